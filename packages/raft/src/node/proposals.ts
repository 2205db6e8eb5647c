// Rule: who waits for what. Commands gather here until the next entry is closed; then their callers wait for the entry at
// that very (index, term). Whatever else comes to stand at that index, they are told that their command is not it (L16, A9).

import type { LogPosition } from '../core/types.js'
import type { Applied } from './machine.js'

/** What became of a command that was handed to `submit`. */
export type Outcome =
  | {
      readonly type: 'applied'
      readonly bytes: Uint8Array
      readonly time: number
      readonly fromTable: boolean
    }
  /** Certainly not in the log by this attempt: it may be sent again to anybody. */
  | { readonly type: 'refused'; readonly reason: Refusal }
  /** It was handed on; whether it commits is not known here. */
  | { readonly type: 'unknown' }
export type Refusal = 'not-leader' | 'busy' | 'too-large' | 'closed'
export type Done = (outcome: Outcome) => void

interface Waiting {
  readonly index: number
  readonly term: number
  readonly callers: readonly Done[]
}

export interface Batch {
  readonly records: readonly Uint8Array[]
  readonly callers: readonly Done[]
}

export interface ProposalCaps {
  readonly entryBytes: number
  /** Bytes that may gather before the next entry: refused as busy beyond. */
  readonly gatheredBytes: number
}

export class Proposals {
  readonly #caps: ProposalCaps
  #records: Uint8Array[] = []
  #callers: Done[] = []
  /** Where batches end that must not grow: positions in #records. */
  #cuts: number[] = []
  #bytes = 0
  /** In order of index. */
  #waiting: Waiting[] = []

  constructor(caps: ProposalCaps) {
    this.#caps = caps
  }

  get gathered(): number {
    return this.#records.length
  }

  get inFlight(): number {
    return this.#waiting.length
  }

  /** `alone`: an entry of its own. */
  add(record: Uint8Array, done: Done, alone: boolean): Refusal | undefined {
    if (record.length > this.#caps.entryBytes) return 'too-large'
    if (this.#bytes + record.length > this.#caps.gatheredBytes) return 'busy'
    if (alone) this.#cuts.push(this.#records.length)
    this.#records.push(record)
    this.#callers.push(done)
    if (alone) this.#cuts.push(this.#records.length)
    this.#bytes += record.length
    return undefined
  }

  /** The next entry's batch: all that gathered, up to the entry's cap or the next cut. */
  take(): Batch | undefined {
    if (this.#records.length === 0) return undefined
    const end = this.#batchEnd()
    const batch = { records: this.#records.splice(0, end), callers: this.#callers.splice(0, end) }
    for (const record of batch.records) this.#bytes -= record.length
    this.#cuts = this.#cuts.map((cut) => cut - end).filter((cut) => cut > 0)
    return batch
  }

  #batchEnd(): number {
    const cut = this.#cuts.find((at) => at > 0) ?? this.#records.length
    let bytes = 0
    let end = 0
    while (end < cut) {
      bytes += (this.#records[end] as Uint8Array).length
      if (end > 0 && bytes > this.#caps.entryBytes) break
      end++
    }
    return end
  }

  proposed(index: number, term: number, batch: Batch): void {
    this.#waiting.push({ index, term, callers: batch.callers })
  }

  /** The entry at `index` is applied: its callers, when it is theirs; others who waited for that index are told `unknown`. */
  settle(index: number, term: number): readonly Done[] | undefined {
    while (this.#waiting.length > 0) {
      const first = this.#waiting[0] as Waiting
      if (first.index > index) return undefined
      this.#waiting.shift()
      if (first.index === index && first.term === term) return first.callers
      tell(first.callers, { type: 'unknown' })
    }
    return undefined
  }

  /** The entry is applied: its callers are answered, each with what its own command came to. */
  answer({ index, term, time }: LogPosition, answers: NonNullable<Applied['answers']>): void {
    const callers = this.settle(index, term)
    if (callers === undefined) return
    for (let k = 0; k < callers.length; k++) {
      const answer = answers[k]
      const done = callers[k] as Done
      if (answer === undefined) done({ type: 'unknown' })
      else done({ type: 'applied', time, bytes: answer.bytes, fromTable: answer.fromTable })
    }
  }

  /** Leadership is gone: what gathered was never handed on; what was proposed may still commit. */
  abandon(reason: Refusal): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { callers } of waiting) tell(callers, { type: 'unknown' })
    const callers = this.#callers
    this.#records = []
    this.#callers = []
    this.#cuts = []
    this.#bytes = 0
    tell(callers, { type: 'refused', reason })
  }
}

export function tell(callers: readonly Done[], outcome: Outcome): void {
  for (const done of callers) done(outcome)
}
