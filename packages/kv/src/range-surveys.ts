// Driver: owns the counts and sums of large ranges, computed before their deleteRange is applied.
// To apply a deleteRange, a member needs the count and the sum of all live rows of the range. With a million
// keys that takes seconds in which nothing else is applied, not even a renewal. Therefore the leader surveys
// the range before it writes the command into the log, while other entries are applied, and later corrects
// only the rows that changed meanwhile.
//
// Laws
// - A survey only saves time: the same is applied with it and without. A member without a survey reads the
//   range when it applies the command.
// - `take` returns what a look-up would find at that moment, or nothing.
// - It returns nothing for a range whose events the history can keep, because that look-up is short and also
//   builds the events.
// - There are few surveys at a time, each with a bounded number of changes, and none is kept for long.

import type { Clock } from '@latchkey/base'
import { decodeCommand, isBadCommand } from '@latchkey/protocol'
import { SPACE, keyOfBinary } from './keyspaces.js'
import { type Surveyed, type Turns, surveyRange } from './stored-key-lookups.js'
import { sealOf } from './storage/row-checksum.js'
import { type KeySpan, type Needed, type WholeRange, rangesOf } from './rules/needed-ranges.js'
import type { EventCaps } from './state/changes.js'
import { eventBytes } from './state/event-row.js'
import type { RangeObserver } from './state/row-table.js'
import type { State } from './state/state.js'

const MOST_SURVEYS = 4
/** The most keys of the range that may change after its survey began; with more the survey is dropped. */
const MOST_CHANGED = 2_000
/** A survey is dropped after this time, because its command should have come by then. */
const MOST_MILLIS = 30_000

class Survey implements RangeObserver {
  readonly span: KeySpan
  readonly state: State
  found: Surveyed | undefined
  /** The rows, as they were at the beginning of the survey, of the keys that changed since. */
  readonly changed = new Map<string, Uint8Array | undefined>()
  lost = false

  constructor(span: KeySpan, state: State) {
    this.span = span
    this.state = state
  }

  get start(): string {
    return this.span.start
  }
  get end(): string {
    return this.span.end
  }

  change(key: string, previous: Uint8Array | undefined): void {
    if (this.lost || this.changed.has(key)) return
    this.changed.set(key, previous)
    if (this.changed.size > MOST_CHANGED) this.lose()
  }

  lose(): void {
    this.lost = true
    this.found = undefined
    this.changed.clear()
  }
}

export class RangeSurveys {
  readonly #clock: Clock
  readonly #caps: EventCaps
  readonly #turns: Turns
  readonly #surveys = new Set<Survey>()

  constructor(clock: Clock, caps: EventCaps, turns: Turns) {
    this.#clock = clock
    this.#caps = caps
    this.#turns = turns
  }

  /**
   * undefined: the command is no deleteRange, or there are too many surveys. Resolves when the survey has
   * succeeded or failed; an error is found again when the command is applied.
   */
  begin(state: State, body: Uint8Array): Promise<void> | undefined {
    const command = decodeCommand(body)
    const needed = isBadCommand(command) ? undefined : rangesOf(command)
    if (needed === undefined || !('whole' in needed) || this.#surveys.size >= MOST_SURVEYS) return undefined
    return this.#run(state, needed.whole)
  }

  async #run(state: State, span: KeySpan): Promise<void> {
    const survey = new Survey(span, state)
    this.#surveys.add(survey)
    state.data.observe(survey)
    const timer = this.#clock.after(MOST_MILLIS, () => this.#end(survey), { ref: false })
    try {
      const found = await surveyRange(state, span, survey.changed, this.#turns)
      if (!survey.lost) survey.found = found
      if (this.#isKept(found)) this.#end(survey)
    } catch {
      this.#end(survey)
    }
    if (survey.lost) timer.cancel()
  }

  #end(survey: Survey): void {
    survey.lose()
    survey.state.data.forget(survey)
    this.#surveys.delete(survey)
  }

  #isKept({ count, bytes }: Surveyed): boolean {
    return count <= this.#caps.events && bytes <= this.#caps.eventBytes
  }

  /** Returns what is live in the range now, and removes the survey. */
  take(state: State, needed: Needed): { readonly whole: WholeRange } | undefined {
    if (!('whole' in needed)) return undefined
    const { start, end } = needed.whole
    for (const survey of this.#surveys) {
      const { found, span } = survey
      if (found === undefined || span.start !== start || span.end !== end || survey.state !== state) continue
      for (const [key, before] of survey.changed) mend(state, found, key, before)
      this.#end(survey)
      return this.#isKept(found) ? undefined : { whole: { ...found, changes: undefined } }
    }
    return undefined
  }
}

function mend(state: State, found: Surveyed, key: string, before: Uint8Array | undefined): void {
  const now = state.data.get(key)
  if (before !== undefined) {
    found.sum.remove(sealOf(before))
    found.count--
    found.bytes -= eventBytes(key, null, before)
  }
  if (now === undefined) return
  found.sum.add(sealOf(now))
  found.count++
  found.bytes += eventBytes(key, null, now)
  // A key may be in the list twice: its row is removed in any case.
  found.keys.add(keyOfBinary(SPACE.data, key))
}
