// Driver: owns what was added up of large ranges before their deleteRange is applied. To apply it takes the count and the sum of all that
// is live in the range; with a million keys that is seconds in which nothing else is applied, no renewal either. So the member that
// is about to write the command into the log, the leader, adds up the range first, while everything is applied as it comes, and then
// only mends what was changed in the range meanwhile.
//
// Laws
//   - it is a hint: with it or without, the same is applied. A member that has no survey looks the range up when it applies
//   - what it answers with is what a look-up would find at that moment, or it answers nothing
//   - of a range that the history may keep in events it answers nothing: that look-up is short, and makes the events
//   - there are few surveys at a time, each of bounded changes, and none is kept for long

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
/** Keys in the range that changed since its survey began. */
const MOST_CHANGED = 2_000
/** Its command should have come by then. */
const MOST_MILLIS = 30_000

class Survey implements RangeObserver {
  readonly span: KeySpan
  readonly state: State
  found: Surveyed | undefined
  /** The row that a key had when the survey began, of keys that changed since. */
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

  /** undefined: that is no large deleteRange. Resolves when its range was added up, or could not be: the command meets what is wrong. */
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

  /** What is live in the range now, and the survey is used up. */
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
  // One more time does no harm: they are removed.
  found.keys.add(keyOfBinary(SPACE.data, key))
}
