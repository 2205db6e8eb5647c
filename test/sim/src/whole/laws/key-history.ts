// Rule: the calls of clients on keys. One order of all calls must explain every answer.

import { linearizable, type Model } from '../../history/linearizable.js'
import { judgeAppends } from './appends.js'
import { LawBroken } from '../../laws/verdict.js'
import type { KeyCall } from './key-call.js'

/** An object, because `undefined` is a possible value of a key. */
interface Held {
  readonly value: string | undefined
  readonly revision: number
}
export const keyModel: Model<Held, KeyCall> = {
  initial: { value: undefined, revision: 0 },
  key: ({ value, revision }) => (value === undefined ? `${revision}` : `${revision}=${value}`),
  step(state, op) {
    if (op.revision > 0 && op.revision <= state.revision) return undefined
    const next = after(state.value, op)
    return next === IMPOSSIBLE ? undefined : { value: next, revision: Math.max(state.revision, op.revision) }
  },
}

const IMPOSSIBLE = Symbol('impossible')

function after(state: string | undefined, op: KeyCall): string | undefined | typeof IMPOSSIBLE {
  const fits = (value: unknown) => op.end === Number.POSITIVE_INFINITY || op.result === value
  switch (op.kind) {
    case 'get':
      return fits(state) ? state : IMPOSSIBLE
    case 'put':
      return op.word
    case 'putIfAbsent':
      return fits(state) ? (state ?? op.word) : IMPOSSIBLE
    case 'getAndPut':
      return fits(state) ? op.word : IMPOSSIBLE
    case 'cas':
      if (!fits(state === op.expect)) return IMPOSSIBLE
      return state === op.expect ? op.word : state
    case 'merge':
      return state === undefined ? op.word : `${state},${op.word}`
    case 'delete':
      return fits(state === undefined ? 0 : 1) ? undefined : IMPOSSIBLE
  }
}

export class KeyHistory {
  readonly #keys = new Map<string, KeyCall[]>()
  size = 0
  /** The number of keys with too many unknown outcomes. The search for an order was given up. */
  undecided = 0

  add(key: string, op: KeyCall): void {
    const list = this.#keys.get(key)
    if (list === undefined) this.#keys.set(key, [op])
    else list.push(op)
    this.size++
  }

  /** `ends` has the final value of each key. */
  judge(ends: ReadonlyMap<string, string | undefined>): void {
    for (const [key, ops] of this.#keys) {
      judgeRefused(key, ops)
      if (ops.every(({ kind }) => kind === 'merge' || kind === 'get')) {
        judgeAppends(key, ops, ends.get(key))
        continue
      }
      judgeMerged(key, ops)
      const verdict = linearizable(relevant(ops), keyModel)
      if (verdict.ok === true) continue
      if (verdict.ok === undefined) this.undecided++
      else throw new LawBroken('linearizability', `${key}: no order of its ${ops.length} operations fits`)
    }
  }
}

function wordsSeen(ops: readonly KeyCall[]): ReadonlyMap<string, number> {
  const seen = new Map<string, number>()
  for (const { result, end } of ops) {
    if (end === Number.POSITIVE_INFINITY || typeof result !== 'string') continue
    for (const word of result.split(',')) seen.set(word, (seen.get(word) ?? 0) + 1)
  }
  return seen
}

/** Law (C1): a call that was reported as not applied changed nothing. */
function judgeRefused(key: string, ops: readonly KeyCall[]): void {
  const seen = wordsSeen(ops)
  for (const op of ops)
    if (op.refused && seen.has(op.word))
      throw new LawBroken('refused is refused', `${key}: ${op.word} was said not to be applied, and was seen`)
}

/** Law (C2): a word that was merged once is in a value at most once. */
function judgeMerged(key: string, ops: readonly KeyCall[]): void {
  for (const { result } of ops) {
    if (typeof result !== 'string') continue
    const words = result.split(',')
    if (new Set(words).size !== words.length)
      throw new LawBroken('exactly once', `${key}: a word is there twice: ${result}`)
  }
}

/**
 * Leaves out calls that changed nothing. A write with unknown outcome stays, because a later delete or
 * compare may depend on it.
 */
function relevant(ops: readonly KeyCall[]): KeyCall[] {
  return ops.filter((op) => !op.refused && (op.end !== Number.POSITIVE_INFINITY || op.kind !== 'get'))
}
