// Door: answers as server-sent events (text/event-stream).
//
// Laws
// - Only the last event of a revision carries its id, and "all up to this revision" is what an id means. A
//   caller that comes back with the last id gets every later revision whole. Without this law: a caller loses
//   its connection between two keys of one putAll, comes back after that revision, and never hears of the
//   second key.
// - An error in the middle is an event of its own ("error", with the code and what to do), and the last one.
// - A wrong or forbidden request is answered by its status before the first event.

import type { Call, Reply } from './http-ports.js'
import { errorReply } from './errors.js'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Proxies must pass each event on at once.
  'x-accel-buffering': 'no',
}

export interface SentEvent {
  /** Everything up to this revision has been sent with this event. */
  readonly id?: number | undefined
  readonly event?: string
  readonly data?: object
}

export const eventText = ({ id, event, data }: SentEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}${
    data === undefined ? '' : `data: ${JSON.stringify(data)}\n`
  }\n`

/** `opening`: what is sent at once, so that the caller knows that the watch is on. */
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

/** Each item as soon as it is there, with whether another one is there already. */
export async function* withNext<T>(
  items: AsyncIterator<T>,
): AsyncGenerator<readonly [item: T, next: T | undefined], undefined> {
  let coming = items.next()
  try {
    for (;;) {
      const { done, value } = await coming
      if (done === true) return undefined
      coming = items.next()
      // A rejection is met at the next turn of the loop, unless the caller stops before.
      coming.catch(() => {})
      const next = await Promise.race([coming, NOT_YET]).catch(() => undefined)
      yield [value, next === undefined || next.done === true ? undefined : next.value]
    }
  } finally {
    await items.return?.(undefined)
  }
}

const NOT_YET = Promise.resolve(undefined)
