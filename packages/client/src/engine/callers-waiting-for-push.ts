// Driver: keeps the list of callers that wait for a push from a member. A push reports the grant of a lock,
// or the end of a wait at a latch or barrier. A push may be lost, so the callers also ask a member after each
// reconnect (docs/latches.md).

import { RecyclingMap, binary } from '@latchkey/base'
import type { OwnerResult, PartyResult } from '@latchkey/protocol'

type Run = (owner: OwnerResult) => void
type Attached = (isNewSession: boolean) => void

export class GrantPushes {
  readonly #waiting = new RecyclingMap<string, readonly Run[]>()
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
   * Makes each waiting caller ask a member for the state of its wait. Called when the store has sent its
   * session's id over a new link, and when all waits must fail. If `isNewSession` is true, the callers'
   * places in lock queues still belong to the former session.
   */
  attached(isNewSession: boolean): void {
    for (const run of this.#attached.keys()) if (this.#attached.has(run)) run(isNewSession)
  }
}

const ticketOf = (key: Uint8Array, id: string) => `${binary(key)}/${id}`
