// Driver: owns what this member has asked of another and not yet heard back. A request whose way is gone ends as unknown; one
// that could not be handed on ends as refused. Nothing is asked twice here: asking again is the client's right alone.
//
// Law: everything that was asked ends. An answer may be lost though the way stays up, and a leader that has stopped in its
// tracks answers nothing for as long as its connection lives: so a command ends as unknown when another member leads, and
// anything when its time is over.
//
// Law: an answer ends only what it was given for (C5). The leader may answer what this member asked in an earlier life, over the
// connection of this one: so the numbers begin elsewhere in each life.

import type { Clock, Random, Timer } from '@latchkey/base'
import type { Outcome } from '@latchkey/raft'
import { type MemberMessage, encodeMemberMessage, firstId } from './member-messages.js'

/** Requests on the way to one member: refused as busy beyond. */
const MOST_PENDING = 20_000
/** No answer is waited for any longer. A call of an operator may wait for a change of members. */
const COMMAND_MS = 10_000
const CALL_MS = 120_000
const LOOK_MS = 1_000

interface Pending {
  readonly to: string
  readonly until: number
  readonly isCall: boolean
  tell(outcome: Outcome | { readonly type: 'returned'; readonly answer: Uint8Array }): void
}
type Tell = Pending['tell']

export interface ForwarderPorts {
  readonly clock: Clock
  /** Another stream at each start. */
  readonly random: Random
  send(to: string, frame: Uint8Array): boolean
}

export class Forwarder {
  readonly #ports: ForwarderPorts
  /** In the order of asking. */
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
    command: { session: number; number: number; done: number; body: Uint8Array },
    tell: Tell,
  ): void {
    const { session, number, done, body } = command
    this.#ask(to, COMMAND_MS, (id) => ({ kind: 'command', id, session, number, done, body }), tell)
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

  /** An answer from `from`; one that nobody waits for any more is dropped. */
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

  /** The way to `peer` is gone: what was asked there may still happen. */
  lost(peer: string): void {
    this.#giveUp(({ to }) => to === peer)
  }

  /** That member leads now: whoever led before may have kept what it was handed, and may never say so. */
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

  /** Nobody waits any more. */
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
