// Types: what is measured. Each system runs as its own processes, with the same durability, on loopback.

import type { MeasureOptions, Samples } from '../measure.js'

export interface System {
  readonly name: string
  /** What runs, in a few words: version, members, durability, client. */
  readonly setting: string
  /** Its server processes, for what they cost. */
  pids(): readonly number[]
  /** One user's way in, as its usual Node client offers it. */
  connect(): Promise<SystemClient>
  /** Who leads at the moment. Absent where nobody does, or where it is not asked for. */
  leader?(): Promise<Leader>
  stop(): Promise<void>
}

/** A server process that can be ended and started again with the same data. */
export interface Leader {
  /** kill -9. */
  kill(): void
  /** Resolves when it serves again. */
  startAgain(): Promise<void>
}

/** By attempts in a plain loop, or by the client's own call that waits for some time. */
export type Waiting = 'loop' | 'time'

/** Measures in a load process of its own, where the usual client is none of Node's. */
export interface LoadProcess {
  /** The loads of the scene `loads`. */
  closed(load: 'pair' | 'put' | 'get', options: MeasureOptions): Promise<Samples>
  /** Lock pairs of one caller, each begun at its own time. */
  paced(perSecond: number, count: number): Promise<Samples>
  /** One contended lock that goes from caller to caller, where there is no queue. */
  passOn(how: Waiting, waiters: number, options: Omit<MeasureOptions, 'callers'>): Promise<Samples>
}

/** Lets a lock go. True: it was still ours. */
export type Release = () => Promise<boolean>

export interface SystemClient {
  readonly loadProcess?: LoadProcess
  /** One attempt. undefined: somebody else has it. */
  take?(key: string): Promise<Release | undefined>
  put?(key: string, value: Uint8Array): Promise<boolean>
  /** Never older than the last put that was acknowledged to anybody. */
  get?(key: string): Promise<Uint8Array | undefined>
  /**
   * Waits for the lock in the system's own queue and passes it on at once; calls `served` while holding it. A
   * waiter has one call under way. Absent where a system has no queue.
   */
  passOn?(key: string, waiter: number, served: () => void): Promise<void>
  /** The same of the only permit of a semaphore. */
  passPermit?(name: string, waiter: number, served: () => void): Promise<void>
  /** The same of the leadership of an election. */
  passLeadership?(name: string, waiter: number, served: () => void): Promise<void>
  close(): Promise<void>
}

/** Starts it; a text says why it cannot be had here. */
export type SystemFactory = () => Promise<System | string>
