// Driver: who waits for the push of a grant. A push is a hint; the ticket's state is the truth (LOCKS.md, 7).

import { binary } from '@latchkey/base'
import type { OwnerResult } from '@latchkey/protocol'

export class Grants {
  readonly #waiting = new Map<string, Set<(owner: OwnerResult) => void>>()
  readonly #attached = new Set<() => void>()

  onGranted(key: Uint8Array, id: string, run: (owner: OwnerResult) => void): () => void {
    const ticket = ticketOf(key, id)
    const runs = this.#waiting.get(ticket) ?? new Set()
    this.#waiting.set(ticket, runs.add(run))
    return () => {
      if (runs.delete(run) && runs.size === 0 && this.#waiting.get(ticket) === runs)
        this.#waiting.delete(ticket)
    }
  }

  onAttached(run: () => void): () => void {
    this.#attached.add(run)
    return () => this.#attached.delete(run)
  }

  granted(key: Uint8Array, owner: OwnerResult): void {
    for (const run of [...(this.#waiting.get(ticketOf(key, owner[0])) ?? [])]) run(owner)
  }

  attached(): void {
    for (const run of [...this.#attached]) run()
  }
}

const ticketOf = (key: Uint8Array, id: string) => `${binary(key)}/${id}`
