// Rule: the operations of clients, each with the times of its call and of its return. The return of an
// operation without an answer is infinity.

export interface Operation {
  readonly client: number
  readonly kind: 'write' | 'swap' | 'read'
  readonly value: number
  readonly expected: number
  readonly call: number
  /** Infinity if the outcome is unknown. The operation may then take effect late or never. */
  readonly end: number
  /**
   * The value of the register before the operation. For a read, the result. Meaningless if the outcome is
   * unknown.
   */
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

  /** A history is linearizable if the history of each key is linearizable. */
  keys(): readonly (readonly [number, readonly Operation[]])[] {
    return [...this.#keys].sort(([a], [b]) => a - b)
  }
}
