// Driver: owns the requests that this member has sent to another member and that are not answered yet. If the
// connection closes, such a request ends as unknown. A request that could not be sent ends as refused. This
// file sends no request twice, because only the client knows whether a retry is safe.
//
// Law: every request ends. An answer may be lost although the connection stays open, and a stopped process
// answers nothing. So a command ends as unknown when another member becomes leader, and every request ends
// when its time limit has passed.
//
// Law: an answer ends only the request to which it belongs (C5). After a restart of this member, a leader may
// still answer requests from before the restart. So each process begins its ids at another number.

import type { Clock, Random, Timer } from '@latchkey/base'
import type { CommandRequest } from '@latchkey/protocol'
import type { Outcome } from '@latchkey/raft'
import { type MemberMessage, encodeMemberMessage, firstId } from './non-raft-member-messages.js'

/** How many requests may be unanswered. A further request is refused as busy. */
const MOST_PENDING = 20_000
/** In ms. Without an answer, a command ends as unknown after this time. */
const COMMAND_MS = 10_000
/**
 * In ms. Without an answer, an admin call ends as unknown after this time. An admin call may wait for a
 * change of membership, so this limit is longer.
 */
const CALL_MS = 120_000
/** In ms, between two searches for requests whose time limit has passed. */
const LOOK_MS = 1_000

interface Pending {
  readonly to: string
  readonly until: number
  readonly isCall: boolean
  tell(outcome: Outcome | { readonly type: 'returned'; readonly answer: Uint8Array }): void
}
type Tell = Pending['tell']

interface ForwarderPorts {
  readonly clock: Clock
  /**
   * The numbers must differ after each start of the process, so that no late answer matches a new request
   * (C5).
   */
  readonly random: Random
  send(to: string, frame: Uint8Array): boolean
}

export class Forwarder {
  readonly #ports: ForwarderPorts
  /** The unanswered requests by id, in the order of sending. */
  readonly #pending = new Map<number, Pending>()
  #lastId: number
  #timer: Timer | undefined

  constructor(ports: ForwarderPorts) {
    this.#ports = ports
    this.#lastId = firstId(ports.random)
  }

  get pending(): number {
    return this.#pending.size
  }

  command(
    to: string,
    command: Pick<CommandRequest, 'session' | 'number' | 'done' | 'body' | 'trace'>,
    tell: Tell,
  ): void {
    const { session, number, done, body, trace } = command
    this.#ask(to, COMMAND_MS, (id) => ({ kind: 'command', id, session, number, done, body, trace }), tell)
  }

  call(to: string, call: string, args: readonly unknown[], tell: Tell): void {
    this.#ask(to, CALL_MS, (id) => ({ kind: 'call', id, call, args }), tell)
  }

  #ask(to: string, patience: number, message: (id: number) => MemberMessage, tell: Tell): void {
    if (this.#pending.size >= MOST_PENDING) return tell({ type: 'refused', reason: 'busy' })
    const id = ++this.#lastId
    const until = this.#ports.clock.now() + patience
    this.#pending.set(id, { to, until, isCall: patience === CALL_MS, tell })
    if (this.#ports.send(to, encodeMemberMessage(message(id)))) {
      this.#timer ??= this.#lookLater()
      return
    }
    this.#pending.delete(id)
    tell({ type: 'refused', reason: 'not-leader' })
  }

  answered(from: string, message: MemberMessage): void {
    if (
      message.kind !== 'applied' &&
      message.kind !== 'refused' &&
      message.kind !== 'unknown' &&
      message.kind !== 'returned'
    )
      return
    const pending = this.#pending.get(message.id)
    if (pending === undefined || pending.to !== from) return
    this.#pending.delete(message.id)
    pending.tell(outcomeOf(message))
  }

  /**
   * Called when the connection to `peer` has closed. `peer` may still execute the requests, so these requests
   * end as unknown.
   */
  lost(peer: string): void {
    this.#giveUp(({ to }) => to === peer)
  }

  /**
   * Called when `leader` has become leader. Other members may never answer the commands that were sent to
   * them, so these commands end as unknown.
   */
  leads(leader: string): void {
    this.#giveUp(({ to, isCall }) => to !== leader && !isCall)
  }

  #giveUp(is: (pending: Pending) => boolean): void {
    for (const [id, pending] of this.#pending) {
      if (!is(pending)) continue
      this.#pending.delete(id)
      pending.tell({ type: 'unknown' })
    }
  }

  #lookLater(): Timer {
    const look = () => {
      this.#timer = undefined
      const now = this.#ports.clock.now()
      this.#giveUp(({ until }) => until <= now)
      if (this.#pending.size > 0) this.#timer ??= this.#lookLater()
    }
    return this.#ports.clock.after(LOOK_MS, look, { ref: false })
  }

  close(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#pending.clear()
  }
}

function outcomeOf(
  message: Extract<MemberMessage, { kind: 'applied' | 'refused' | 'unknown' | 'returned' }>,
): Parameters<Tell>[0] {
  switch (message.kind) {
    case 'applied':
      return {
        type: 'applied',
        answer: { bytes: message.bytes, fromTable: message.time === 0 },
        time: message.time,
      }
    case 'refused':
      return {
        type: 'refused',
        reason: message.reason === 'busy' || message.reason === 'too-large' ? message.reason : 'not-leader',
      }
    case 'unknown':
      return { type: 'unknown' }
    case 'returned':
      return { type: 'returned', answer: message.answer }
  }
}
