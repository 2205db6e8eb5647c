// Rule: the port between the world and whatever a member is made of. The world knows time, network, disk,
// faults and laws, no more.

import type { Instant, Random } from '@latchkey/base'
import type { MemberId, Membership, MembershipChange, Message } from '@latchkey/raft/core'
import type { Watcher } from '../laws/law.js'
import type { DiskHandle } from '../world/disk-handle.js'

/** One call of a client: a register is written, compared and swapped, or read. */
export interface Request {
  readonly id: number
  readonly client: number
  readonly kind: 'write' | 'swap' | 'read'
  readonly key: number
  readonly value: number
  readonly expected: number
  /** For the laws only: real time of the sending, and the highest acknowledged index then. */
  readonly sentAt: number
  readonly floor: number
}

/**
 * A client's truth has three values. 'done' carries what the register held before; of a read, what it holds.
 */
export type Answer =
  | { readonly type: 'done'; readonly value: number; readonly swapped: boolean }
  | { readonly type: 'refused'; readonly leader: MemberId | undefined }
  | { readonly type: 'unknown' }

/** What the world gives to one running process. All of it is dead once the process has ended. */
export interface Host {
  readonly id: MemberId
  readonly disk: DiskHandle
  readonly random: Random
  readonly watcher: Watcher
  /** A fresh reading of the monotonic clock, ms. */
  now(): number
  instant(): Instant
  /** Real time of the reading that the current call was given; only for the laws, never for decisions. */
  readingAt(): number
  /** False once the process has ended, also in the middle of its own work (a crash point). */
  alive(): boolean
  send(message: Message): void
  answer(request: Request, answer: Answer): void
  after(micros: number, run: (now: number) => void): void
  /** Runs in the process, with a fresh reading: at once, or when a paused process goes on. */
  enter(run: (now: number) => void): void
  /** The process ends itself: its storage failed. */
  stop(reason: string): void
}

/**
 * A running member. Made by a Boot from what its disk holds; a crash is simply that nobody calls it again.
 */
export interface SimMember {
  message(message: Message, now: number): void
  tick(now: number): void
  request(request: Request, now: number): void
  /** The connections to that member's process closed. */
  peerGone(id: MemberId, now: number): void
  transfer(to: MemberId, now: number): boolean
  change(change: MembershipChange, now: number): boolean
  /** Takes a snapshot and compacts the log behind it, where there is something to compact. */
  compact(): void
  readonly view: MemberView
}

/** What laws, nemesis and scenarios may see of a running member. */
export interface MemberView {
  readonly term: number
  readonly role: string
  readonly leader: MemberId | undefined
  readonly commit: number
  readonly applied: number
  readonly lastIndex: number
  readonly clusterTime: number
  readonly membership: Membership
  readonly stateHash: number
  /**
   * What is waiting: a snapshot under way, a transfer, something to persist or to apply; undefined: nothing.
   */
  readonly pending: string | undefined
  /** For people. */
  describe(): string
}

export interface Birth {
  /** The members that a new cluster starts with; a joining one starts with none. */
  readonly membership: Membership
}

/** A disk that holds damage where it promised durability: the member must not run. */
export class DamagedDisk extends Error {
  override readonly name = 'DamagedDisk'
}

export type Boot = (host: Host, birth: Birth) => SimMember
