// Rule: what clients saw: one operation a line, from its call to its return. A return that never came is
// infinity.

export interface Operation {
  readonly client: number
  readonly kind: 'write' | 'swap' | 'read'
  readonly value: number
  readonly expected: number
  readonly call: number
  /** Infinity: the outcome is unknown, it may take effect at any time from the call on, or never. */
  readonly end: number
  /** What the register held before it (of a read: what it holds); meaningless while the end is unknown. */
  readonly seen: number
  readonly swapped: boolean
}

export class History {
  readonly #keys = new Map<number, Operation[]>()
  size = 0

  add(key: number, operation: Operation): void {
    const list = this.#keys.get(key)
    if (list === undefined) this.#keys.set(key, [operation])
    else list.push(operation)
    this.size++
  }

  /** Linearizability is local: a history is linearizable when each key's is. */
  keys(): readonly (readonly [number, readonly Operation[]])[] {
    return [...this.#keys].sort(([a], [b]) => a - b)
  }
}
