// Driver: owns what this member has asked of another and not yet heard back. A request whose way is gone ends as unknown; one
// that could not be handed on ends as refused. Nothing is asked twice here: asking again is the client's right alone.

import type { Outcome } from '@latchkey/raft'
import { type Between, encodeBetween } from './between.js'

/** Requests on the way to one member: refused as busy beyond. */
const MOST_PENDING = 20_000

interface Pending {
  readonly to: string
  tell(outcome: Outcome | { readonly type: 'returned'; readonly answer: Uint8Array }): void
}
type Tell = Pending['tell']

export class Forwarder {
  readonly #send: (to: string, frame: Uint8Array) => boolean
  readonly #pending = new Map<number, Pending>()
  #lastId = 0

  constructor(send: (to: string, frame: Uint8Array) => boolean) {
    this.#send = send
  }

  command(
    to: string,
    command: { session: number; number: number; done: number; body: Uint8Array },
    tell: Tell,
  ): void {
    const { session, number, done, body } = command
    this.#ask(to, (id) => ({ kind: 'command', id, session, number, done, body }), tell)
  }

  call(to: string, call: string, args: readonly unknown[], tell: Tell): void {
    this.#ask(to, (id) => ({ kind: 'call', id, call, args }), tell)
  }

  #ask(to: string, message: (id: number) => Between, tell: Tell): void {
    if (this.#pending.size >= MOST_PENDING) return tell({ type: 'refused', reason: 'busy' })
    const id = ++this.#lastId
    this.#pending.set(id, { to, tell })
    if (this.#send(to, encodeBetween(message(id)))) return
    this.#pending.delete(id)
    tell({ type: 'refused', reason: 'not-leader' })
  }

  /** An answer from `from`; one that nobody waits for any more is dropped. */
  answered(from: string, message: Between): void {
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
    for (const [id, pending] of this.#pending) {
      if (pending.to !== peer) continue
      this.#pending.delete(id)
      pending.tell({ type: 'unknown' })
    }
  }
}

function outcomeOf(
  message: Extract<Between, { kind: 'applied' | 'refused' | 'unknown' | 'returned' }>,
): Parameters<Tell>[0] {
  switch (message.kind) {
    case 'applied':
      return { type: 'applied', bytes: message.bytes, time: message.time, fromTable: message.time === 0 }
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
