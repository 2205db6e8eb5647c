// Driver: owns the callers that wait for a push: of a grant, or of the end of a wait at a latch or barrier.
// The push of a grant is only a hint: a read of the ticket's state decides whether the caller has the lock
// (docs/locks.md, 7). The push of an end is committed and stays true. If such a push is lost, the caller asks
// for the end (docs/latches.md).

import { RecyclingMap, binary } from '@latchkey/base'
import type { OwnerResult, PartyResult } from '@latchkey/protocol'

type Run = (owner: OwnerResult) => void
type Attached = (isNewSession: boolean) => void

export class GrantPushes {
  /** The waiting callers of each ticket. Nearly every ticket has one caller. */
  readonly #waiting = new RecyclingMap<string, readonly Run[]>()
  /** The waiting callers, by the random ids of their parties. */
  readonly #parties = new RecyclingMap<string, (result: PartyResult) => void>()
  readonly #attached = new RecyclingMap<Attached, true>()

  onGranted(key: Uint8Array, id: string, run: Run): () => void {
    const ticket = ticketOf(key, id)
    this.#waiting.set(ticket, [...(this.#waiting.get(ticket) ?? []), run])
    return () => {
      const others = this.#waiting.get(ticket)?.filter((other) => other !== run) ?? []
      if (others.length === 0) this.#waiting.delete(ticket)
      else this.#waiting.set(ticket, others)
    }
  }

  onEnded(id: string, run: (result: PartyResult) => void): () => void {
    this.#parties.set(id, run)
    return () => this.#parties.delete(id)
  }

  ended(id: string, result: PartyResult): void {
    this.#parties.get(id)?.(result)
  }

  onAttached(run: Attached): () => void {
    this.#attached.set(run, true)
    return () => this.#attached.delete(run)
  }

  granted(key: Uint8Array, owner: OwnerResult): void {
    for (const run of this.#waiting.get(ticketOf(key, owner[0])) ?? []) run(owner)
  }

  /**
   * Called when the session is attached to a link. With `isNewSession`, places in queues still belong to the
   * former session, which ends sooner or later.
   */
  attached(isNewSession: boolean): void {
    for (const run of this.#attached.keys()) if (this.#attached.has(run)) run(isNewSession)
  }
}

const ticketOf = (key: Uint8Array, id: string) => `${binary(key)}/${id}`
