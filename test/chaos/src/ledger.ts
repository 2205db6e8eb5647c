// Driver: writes that can be accounted for. Each appends a word of its own to a list; at the end every
// acknowledged word must stand there exactly once, and a word whose outcome is unknown at most once. A
// client's truth has three values.

import { isLatchkeyError } from '@latchkey/protocol'
import type { Store } from '@latchkey/client'
import type { Standstill } from './standstill.js'

/** Words of one list; a list stays far below the cap of a value. */
const WORDS = 400

export interface LedgerReport {
  readonly acknowledged: number
  readonly unknown: number
  readonly refused: number
  readonly faults: readonly string[]
}

export class Ledger {
  readonly #store: Store
  readonly #name: string
  readonly #fate = new Map<string, 'acknowledged' | 'unknown' | 'refused'>()
  readonly #lists = new Set<string>()
  readonly #errors = new Map<string, number>()
  #count = 0
  readonly #standstill: Standstill

  constructor(store: Store, name: string, standstill: Standstill) {
    this.#store = store
    this.#name = name
    this.#standstill = standstill
  }

  get acknowledged(): number {
    let count = 0
    for (const fate of this.#fate.values()) if (fate === 'acknowledged') count++
    return count
  }

  /** Error codes met, and how often. An error does not count if this process stood still during the call. */
  get errors(): ReadonlyMap<string, number> {
    return this.#errors
  }

  /** One word. Never throws: what happened is in the books. */
  async write(timeout = 5000): Promise<boolean> {
    const n = this.#count++
    const word = `${this.#name}.${n}`
    const list = `ledger/${this.#name}/${Math.floor(n / WORDS)}`
    this.#lists.add(list)
    const stood = this.#standstill.millis
    try {
      await this.#store.merge(list, word, { timeout })
      this.#fate.set(word, 'acknowledged')
      return true
    } catch (error) {
      const unknown = !isLatchkeyError(error) || error.outcome === 'unknown'
      this.#fate.set(word, unknown ? 'unknown' : 'refused')
      if (this.#standstill.millis - stood > timeout / 10) return false
      const code = isLatchkeyError(error) ? error.code : String(error)
      this.#errors.set(code, (this.#errors.get(code) ?? 0) + 1)
      return false
    }
  }

  async audit(store: Store): Promise<LedgerReport> {
    const seen = new Map<string, number>()
    for (const list of this.#lists) {
      const words: string | undefined = await store.get(list, { as: 'string', timeout: '20s' })
      for (const word of words?.split(',') ?? []) seen.set(word, (seen.get(word) ?? 0) + 1)
    }
    const faults: string[] = []
    for (const [word, times] of seen) {
      if (times > 1) faults.push(`${word} was applied ${times} times`)
      if (!this.#fate.has(word)) faults.push(`${word} was never written`)
      if (this.#fate.get(word) === 'refused') faults.push(`${word} was refused, and yet applied`)
    }
    for (const [word, fate] of this.#fate) {
      if (fate === 'acknowledged' && !seen.has(word)) faults.push(`${word} was acknowledged, and is lost`)
    }
    const tally = (wanted: string) => [...this.#fate.values()].filter((fate) => fate === wanted).length
    return {
      acknowledged: tally('acknowledged'),
      unknown: tally('unknown'),
      refused: tally('refused'),
      faults,
    }
  }
}
