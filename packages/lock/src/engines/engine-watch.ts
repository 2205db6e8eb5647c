// Driver: a watch of locks over an engine. The watch compares the lists of holds at two moments. A hold that
// began and ended between the two moments is not reported.

import { binary } from '@latchkey/base'
import {
  type As,
  type Decoding,
  LatchkeyError,
  type LockInfoResult,
  nameOfLockKey,
  toUserKey,
} from '@latchkey/protocol'
import type { LockWatchEvent } from '../holding/lock-watch-types.js'
import { toContext } from '../holding/owner-from-wire-format.js'

interface WatchSource {
  look(): Promise<Look>
  pause(): Promise<void>
  readonly decoding: Decoding
  readonly renewals: boolean
}

type Event = LockWatchEvent<As>
type Rows = ReadonlyMap<string, LockInfoResult>

/**
 * Yields the changes of the holds. The first read of the holds is sent when this function is called, so that
 * the watch begins at that moment.
 */
export function compareHolds(source: WatchSource): AsyncGenerator<Event, void, undefined> {
  const first = source.look()
  first.catch(() => {})
  return follow(source, first)
}

async function* follow(source: WatchSource, first: Promise<Look>): AsyncGenerator<Event, void, undefined> {
  let before = await first
  for (;;) {
    await source.pause()
    const after = await source.look()
    yield* changes(before, after, source)
    before = after
  }
}

const byKey = (rows: readonly LockInfoResult[]): Rows => new Map(rows.map((row) => [binary(row[0]), row]))

interface Look {
  readonly now: number
  readonly rows: readonly LockInfoResult[]
}

function* changes(was: Look, is: Look, { decoding, renewals }: WatchSource): Generator<Event> {
  const old = byKey(was.rows)
  const present = byKey(is.rows)
  const event = (
    type: Event['type'],
    row: LockInfoResult,
    id = row[1],
    context = row[2],
    token = row[3],
  ): Event => ({
    type,
    key: toUserKey(nameOfLockKey(row[0]), decoding),
    id,
    context: toContext(context),
    fencingToken: token,
    revision: 0,
  })
  for (const [key, row] of old) {
    const next = present.get(key)
    if (next?.[1] === row[1]) continue
    yield event(was.now + row[5] < is.now ? 'expired' : 'released', row)
  }
  for (const [key, row] of present) {
    const before = old.get(key)
    if (before?.[1] !== row[1]) yield event('acquired', row)
    else if (before[3] !== row[3]) yield event('rotated', row)
    else if (renewals && was.now + before[5] < is.now + row[5]) yield event('renewed', row)
  }
  for (const [key, row] of new Map([...old, ...present])) {
    const waited = queueOf(old.get(key))
    const waiting = queueOf(present.get(key))
    for (const [id, one] of waiting) if (!waited.has(id)) yield event('queued', row, id, one[1], 0)
    for (const [id, one] of waited)
      if (!waiting.has(id) && present.get(key)?.[1] !== id) yield event('left', row, id, one[1], 0)
  }
}

const queueOf = (row: LockInfoResult | undefined) => new Map((row?.[8] ?? []).map((one) => [one[0], one]))

export const watchIsOver = (code: 'ERR_ABORTED' | 'ERR_CLOSED', cause?: unknown): LatchkeyError =>
  new LatchkeyError(code, undefined, { cause })
