// Door: GET /v1/watch, which sends the changes of keys as server-sent events.

import { type InitialWatchEvent, LatchkeyError, type WatchEvent, type WatchTarget } from '@latchkey/protocol'
import { keyJson } from './http-status-of-errors.js'
import { eventStream, type SentEvent, withNext } from './server-sent-events.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { bytesOption, callOptions, flagOption, oneHeader, wholeOption } from './request-headers-and-query.js'
import { formOption, type ValueForm, valueJson } from './values-json.js'

type Event = InitialWatchEvent<WatchEvent>
interface Shown {
  readonly form: ValueForm | undefined
  readonly previous: boolean
}

export async function watchKeys(call: Call): Promise<Reply> {
  const shown = { form: formOption(call), previous: flagOption(call, 'previous') }
  const target = targetOf(call)
  const seen = lastSeen(call)
  const from = seen === undefined ? wholeOption(call, 'from') : seen + 1
  const isInitial = flagOption(call, 'initial')
  if (isInitial && call.query.has('from'))
    throw new TypeError('from cannot be given together with initial, which begins with what is there.')
  const options = { as: 'bytes', signal: call.signal } as const
  if (isInitial && seen === undefined) return initialWatch(call, target, shown)
  // A watch without a given revision begins after the newest revision of the store, which this read returns.
  // If the caller may not read these keys, the read fails.
  const { revision } = await call.by.scan(
    { ...rangeOf(target), limit: 0 },
    { ...callOptions(call), as: 'bytes' },
  )
  if (seen !== undefined && seen > revision) return eventStream(call, refused(aheadOf(seen, revision)))
  const watch = call.by.watch({ ...target, from: from ?? revision + 1 }, options)
  return eventStream(call, sent(watch, shown), from === undefined ? { id: revision } : undefined)
}

/**
 * The watch first reports the present keys. This function waits for the first event, so that a caller without
 * the right gets its error as an HTTP status.
 */
async function initialWatch(call: Call, target: WatchTarget, shown: Shown): Promise<Reply> {
  const watch = call.by.watch(target, { as: 'bytes', signal: call.signal, initial: true })
  const events = sent(watch, shown)
  const { done, value } = await events.next()
  return eventStream(call, events, done === true ? undefined : value)
}

/**
 * The error for a revision that this store has not reached. The error has the code of a compacted revision,
 * so that the caller begins its watch again.
 */
const aheadOf = (seen: number, revision: number) =>
  new LatchkeyError(
    'ERR_COMPACTED',
    `This store is only at revision ${revision}, so revision ${seen} comes from another store, or from before a restore of a backup. Begin again with initial=true.`,
  )

// oxlint-disable-next-line require-yield -- this generator only throws an error
async function* refused(error: LatchkeyError): AsyncGenerator<SentEvent, undefined> {
  throw error
}

/** A browser that reconnects sends the header Last-Event-ID: the revision up to which it has all events. */
function lastSeen(call: Call): number | undefined {
  const text = oneHeader(call, 'last-event-id')
  if (text === undefined || text === '') return undefined
  if (/^[0-9]{1,15}$/.test(text)) return Number(text)
  throw new TypeError('Last-Event-ID must be a revision: the id of the last event.')
}

function targetOf(call: Call): WatchTarget {
  const [key, prefix, gte, lt] = ['key', 'prefix', 'gte', 'lt'].map((name) => bytesOption(call, name))
  const isRange = gte !== undefined || lt !== undefined
  if ([key !== undefined, prefix !== undefined, isRange].filter(Boolean).length > 1)
    throw new TypeError('key, prefix, and a range of gte and lt exclude each other.')
  if (key !== undefined) return { key }
  return isRange ? { range: { gte, lt } } : { prefix: prefix ?? '' }
}

const rangeOf = ({ key, prefix, range }: WatchTarget) =>
  key === undefined ? (range ?? { prefix }) : { gte: key, lte: key }

async function* sent(watch: AsyncIterator<Event>, shown: Shown): AsyncGenerator<SentEvent, undefined> {
  for await (const [event, next] of withNext(watch)) yield sentEvent(event, next, shown)
  return undefined
}

/**
 * Only the last event of a revision gets an id, because a caller that reconnects continues after its last id.
 * All events of one revision arrive together. So if no `next` event has arrived yet, `event` is the last
 * event of its revision.
 */
function sentEvent(event: Event, next: Event | undefined, shown: Shown): SentEvent {
  if (event.type === 'reset') return { data: event }
  if (event.type === 'synced') return { id: event.revision, data: event }
  const { key, value, type, revision } = event
  const data = { type, revision, ...keyJson(key), ...(value && { value: valueJson(value, shown.form) }) }
  if ('initial' in event) return { data: { ...data, initial: true } }
  const { reason, previous } = event
  const more = {
    ...(reason !== undefined && { reason }),
    ...(shown.previous && previous && { previous: valueJson(previous, shown.form) }),
  }
  const isLast = next === undefined || !('revision' in next) || next.revision !== revision
  return { id: isLast ? revision : undefined, data: { ...data, ...more } }
}
