// Driver: counts the rows of a large range before a deleteRange of this range. To apply a deleteRange, a
// member needs the count of the rows in the range, and the sum of their checksums. For a million keys this
// takes seconds, in which the member applies nothing else, not even the renewal of a lease. So the leader
// makes this count and sum, called a survey, before it writes the command into the log. When the command is
// applied, the survey is corrected for the rows that have changed since the survey began.
//
// Laws
// - A survey only saves time: a command has the same result with and without a survey.
// - `take` returns either nothing, or exactly the same as reading the whole range at that moment.
// - `take` returns nothing for a small range. Reading a small range is fast, and only this reading builds the
//   events of the removed keys.
// - The number of surveys, their changed keys and their lifetimes are limited.

import type { Clock } from '@latchkey/base'
import { decodeCommand, isBadCommand } from '@latchkey/protocol'
import { SPACE, keyOfBinary } from './keyspaces.js'
import { type Surveyed, type Turns, surveyRange } from './stored-rows-for-range-commands.js'
import { storedChecksum } from './storage/stored-row-checksum.js'
import { type KeySpan, type Needed, type WholeRange, rangesOf } from './rules/ranges-needed-by-command.js'
import type { EventCaps } from './state/command-event-rows.js'
import { eventBytes } from './state/event-row-format.js'
import type { RangeObserver } from './state/row-table-with-overlay.js'
import type { State } from './state/store-state.js'

const MOST_SURVEYS = 4
/**
 * If more keys of the range change than this number, the survey is dropped. `take` corrects the survey for
 * all changed keys in one turn of the event loop, and more keys would block the event loop for too long.
 */
const MOST_CHANGED = 2_000
/** In ms. A survey that no deleteRange has used is dropped this long after its beginning. */
const MOST_MILLIS = 30_000

class Survey implements RangeObserver {
  readonly span: KeySpan
  readonly state: State
  found: Surveyed | undefined
  /** The keys that have changed since the survey began, each with its row before its first change. */
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
   * Begins a survey. Returns undefined if the command is not a deleteRange, if its range is empty, or if
   * there are too many surveys. An error of the survey is ignored. The same error will occur when the command
   * is applied.
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
      if (survey.lost || this.#isKept(found)) this.#end(survey)
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

  /**
   * Returns the rows that are in the range now, and ends the survey. Returns undefined if the range has no
   * complete survey, or if the range is small.
   */
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
    found.sum.remove(storedChecksum(before))
    found.count--
    found.bytes -= eventBytes(key, null, before)
  }
  if (now === undefined) return
  found.sum.add(storedChecksum(now))
  found.count++
  found.bytes += eventBytes(key, null, now)
  // If the row existed when the survey began, `found.keys` now has its key twice. That does no harm, because
  // the second removal of a row has no effect.
  found.keys.add(keyOfBinary(SPACE.data, key))
}
