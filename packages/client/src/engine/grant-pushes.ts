// Driver: the callers that wait for the push of a grant. A push is only a hint: a read of the ticket's state
// decides (docs/locks.md, 7).

import { RecyclingMap, binary } from '@latchkey/base'
import type { OwnerResult } from '@latchkey/protocol'

type Run = (owner: OwnerResult) => void

export class GrantPushes {
  /** The waiting callers of each ticket, nearly always one. */
  readonly #waiting = new RecyclingMap<string, readonly Run[]>()
  readonly #attached = new RecyclingMap<() => void, true>()

  onGranted(key: Uint8Array, id: string, run: Run): () => void {
    const ticket = ticketOf(key, id)
    this.#waiting.set(ticket, [...(this.#waiting.get(ticket) ?? []), run])
    return () => {
      const others = this.#waiting.get(ticket)?.filter((other) => other !== run) ?? []
      if (others.length === 0) this.#waiting.delete(ticket)
      else this.#waiting.set(ticket, others)
    }
  }

  onAttached(run: () => void): () => void {
    this.#attached.set(run, true)
    return () => this.#attached.delete(run)
  }

  granted(key: Uint8Array, owner: OwnerResult): void {
    for (const run of this.#waiting.get(ticketOf(key, owner[0])) ?? []) run(owner)
  }

  attached(): void {
    for (const run of this.#attached.keys()) if (this.#attached.has(run)) run()
  }
}

const ticketOf = (key: Uint8Array, id: string) => `${binary(key)}/${id}`
