// Rule: laws of calls with idempotency keys, which an observer of all calls of all clients checks. Each
// request adds a number to a counter. After the faults, a client repeats all requests that the cluster may
// have applied. The counters then show whether the cluster has applied each request once.
//
// Laws
// - Applied once (C73): each counter is the sum of the requests that succeeded, counted once for each key.
//   Two keys never get the same numbers of one counter.
// - The same answer (C73): all answers to the request of a key are equal, also in other sessions.
// - One request (C73): a key has only one request that succeeds. The cluster refuses every other request with
//   this key, and only such requests, with ERR_MISMATCH.
// - The present hold (C76): the answer to a repeated rotation has the present token. So the token is never
//   smaller than the token in an answer that arrived before the call began.

import { LawBroken } from '../../laws/verdict.js'
import type { Sequences } from './sequences-and-watches.js'

export const COUNTERS = ['sequence', 'latch', 'number', 'token'] as const
export type Counter = (typeof COUNTERS)[number]

export interface CountRequest {
  readonly counter: Counter
  readonly by: number
}

export interface OnceCall {
  readonly request: CountRequest
  readonly call: number
  /** With 'unknown', the request may have been applied, because the call has no answer. */
  state: 'unknown' | 'answered' | 'mismatch' | 'refused'
  /** The time of the answer. */
  end: number
  /** The counter before the request. For the counter 'token', the counter before the last rotation. */
  before: number
}

export class AppliedOnce {
  readonly #calls = new Map<string, OnceCall[]>()
  /** The counters at the end of the run. */
  readonly finals = new Map<Counter, number>()

  get keys(): readonly string[] {
    return [...this.#calls.keys()]
  }

  /** Returns the first request of the key. */
  firstRequest(key: string): CountRequest | undefined {
    return this.#calls.get(key)?.[0]?.request
  }

  begins(key: string, request: CountRequest, call: number): OnceCall {
    const made: OnceCall = { request, call, state: 'unknown', end: Number.POSITIVE_INFINITY, before: 0 }
    const list = this.#calls.get(key)
    if (list === undefined) this.#calls.set(key, [made])
    else list.push(made)
    return made
  }

  /** Returns each different request that the cluster may have applied, with its key. */
  get possible(): readonly (readonly [key: string, request: CountRequest])[] {
    return [...this.#calls].flatMap(([key, calls]) => {
      const all = calls.filter(isPossible)
      return all
        .filter((one, i) => all.findIndex((other) => isSame(one, other)) === i)
        .map(({ request }) => [key, request] as const)
    })
  }

  /** Also adds the numbers of each key to `sequences`, whose law compares the numbers of different keys. */
  judge(sequences: Sequences): void {
    const sums = new Map<Counter, number>()
    for (const [key, calls] of this.#calls) {
      const [first] = judgeKey(key, calls)
      if (first === undefined) continue
      const { counter, by } = first.request
      sums.set(counter, (sums.get(counter) ?? 0) + by)
      if (counter === 'token') continue
      const tries = calls.filter((one) => isPossible(one) && isSame(one, first))
      const begun = Math.min(...tries.map(({ call }) => call))
      const answered = Math.min(...tries.map(({ end }) => end))
      sequences.given(`once/${counter}`, first.before, first.before + by, begun, answered)
    }
    for (const [counter, final] of this.finals) {
      const sum = sums.get(counter) ?? 0
      if (final !== sum)
        throw new LawBroken('applied once', `the ${counter} is ${final}, and all requests add up to ${sum}`)
    }
    judgeTokens([...this.#calls.values()].flat().filter(isTokenAnswer))
  }
}

const isPossible = ({ state }: OnceCall): boolean => state === 'unknown' || state === 'answered'
const isSame = ({ request: a }: OnceCall, { request: b }: OnceCall): boolean =>
  a.counter === b.counter && a.by === b.by
const isTokenAnswer = ({ state, request }: OnceCall): boolean =>
  state === 'answered' && request.counter === 'token'

/** Returns the calls with an answer. */
function judgeKey(key: string, calls: readonly OnceCall[]): readonly OnceCall[] {
  const answered = calls.filter(({ state }) => state === 'answered')
  const [first] = answered
  for (const one of answered) {
    if (first === undefined || !isSame(one, first))
      throw new LawBroken('one request for each key', `two different requests of ${key} succeeded`)
    if (one.before !== first.before && one.request.counter !== 'token')
      throw new LawBroken('the same answer', `${key} got ${first.before} and ${one.before}`)
  }
  for (const one of calls)
    if (one.state === 'mismatch' && (first === undefined || isSame(one, first)))
      throw new LawBroken('one request for each key', `${key} was refused, and had no other request`)
  return answered
}

function judgeTokens(answers: readonly OnceCall[]): void {
  const byEnd = [...answers].sort((a, b) => a.end - b.end)
  let last = 0
  let at = 0
  for (const one of [...answers].sort((a, b) => a.call - b.call)) {
    for (; at < byEnd.length && (byEnd[at] as OnceCall).end < one.call; at++)
      last = Math.max(last, (byEnd[at] as OnceCall).before)
    if (one.before < last)
      throw new LawBroken('the present hold', `an answer has token ${one.before}, and one before had ${last}`)
  }
}
