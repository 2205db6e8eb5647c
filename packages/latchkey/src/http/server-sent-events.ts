// Door: sends answers as server-sent events (text/event-stream).
//
// Laws
// - Only the last event of a revision has an id. An id means that the caller has all events up to this
//   revision. A caller that reconnects with its last id gets all later revisions. Without this law: a caller
//   is disconnected between two keys of one putAll and reconnects with the id of that revision. The caller
//   then never receives the change of the second key.
// - An error after the first event is sent as the last event, with the name "error". Its data has the code of
//   the error and advice.
// - A wrong or forbidden request gets the HTTP status of its error, and no event.

import type { Call, Reply } from './http-route-dependencies.js'
import { errorReply } from './http-status-of-errors.js'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Otherwise a proxy such as nginx collects the events before it forwards them.
  'x-accel-buffering': 'no',
}

export interface SentEvent {
  /**
   * With this event, the caller has all events up to this revision. Undefined if further events of the same
   * revision follow.
   */
  readonly id?: number | undefined
  readonly event?: string
  readonly data?: object
}

const eventText = ({ id, event, data }: SentEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}${
    data === undefined ? '' : `data: ${JSON.stringify(data)}\n`
  }\n`

/** `opening` is sent immediately, so that the caller knows that the watch has begun. */
export const eventStream = (
  { signal }: Pick<Call, 'signal'>,
  events: AsyncIterator<SentEvent>,
  opening?: SentEvent,
): Reply => ({
  status: 200,
  headers: HEADERS,
  stream: { pieces: textsOf(signal, events, opening), isEndless: true },
})

async function* textsOf(
  signal: AbortSignal,
  events: AsyncIterator<SentEvent>,
  opening: SentEvent | undefined,
): AsyncGenerator<string, undefined> {
  try {
    yield opening === undefined ? ': watching\n\n' : eventText(opening)
    for (;;) {
      const { done, value } = await events.next()
      if (done === true) return undefined
      yield eventText(value)
    }
  } catch (error) {
    const { body } = errorReply(signal.aborted ? signal.reason : error)
    yield eventText({ event: 'error', data: body as object })
    return undefined
  } finally {
    await events.return?.(undefined)
  }
}

/**
 * Yields each item without waiting for the item after it. `next` is the following item if it has already
 * arrived.
 */
export async function* withNext<T>(
  items: AsyncIterator<T>,
): AsyncGenerator<readonly [item: T, next: T | undefined], undefined> {
  let coming = items.next()
  try {
    for (;;) {
      const { done, value } = await coming
      if (done === true) return undefined
      coming = items.next()
      // If `coming` rejects, the next step of this loop throws the error. But if the consumer stops before
      // this step, the rejection would be unhandled, and Node would end the process.
      coming.catch(() => {})
      const next = await Promise.race([coming, NOT_YET]).catch(() => undefined)
      yield [value, next === undefined || next.done === true ? undefined : next.value]
    }
  } finally {
    await items.return?.(undefined)
  }
}

const NOT_YET = Promise.resolve(undefined)
