// Rule: keys go whose life is over, some at each entry that is due for it.
//
// Laws
//   - A key goes at an entry whose time is above its due, or behind the end of its session: never before, whoever asks.
//   - Which entries remove, and what, follows from the state and the entry's time alone: an entry that is the first of its tenth of a
//     second, the next one where not all could be removed, and one behind the end of a session that has keys.
//   - What one entry removes is bounded, in rows and bytes. The story without it: a million keys are put with the same ttl, and an hour
//     later every member stands still for a minute, and none of them leads.
//   - All that goes at one entry is one revision; what finds nothing to remove takes none.
//   - The index is not believed: a key goes only if its own row has the life that the index says.

import { EVENT } from '@latchkey/protocol'
import { type Life, lifeOf, valueLength } from '../state/data-row.js'
import { type Indexed, indexedAt, periodOf } from '../state/life-rows.js'
import type { State } from '../state/state.js'
import type { InTurns } from './apply-turn.js'
import type { Draft } from './draft.js'
import type { FoundLives, NeededLives } from './needed-ranges.js'

/** So many keys at the most, and so many bytes of their values, but for the last one's. */
export const EXPIRED_AN_ENTRY = 500
const BYTES_AN_ENTRY = 512 * 1024

/** `now`: the time of the entry that begins. undefined: it removes nothing. */
export function neededLives({ meta, lives }: State, now: number): NeededLives | undefined {
  const isFirst = periodOf(now) > periodOf(meta.position.time)
  if (!isFirst && !meta.expiring && !lives.hasOver()) return undefined
  const earliest = lives.earliest()
  if (earliest === undefined || earliest >= now) {
    meta.expiring = false
    return undefined
  }
  const sessions = lives.sessionsOver()
  const spans = [...sessions.map((session) => lives.spanOfSession(session)), lives.spanOfDue()]
  return { sessions, spans, now, most: EXPIRED_AN_ENTRY }
}

export function* removeKeys(state: State, draft: Draft, found: FoundLives): InTurns<undefined> {
  let bytes = 0
  let at = 0
  for (; at < found.places.length && bytes < BYTES_AN_ENTRY; at++) {
    const indexed = indexedAt(found.places[at] as string)
    bytes += indexed.key.length + removeKey(state, draft, indexed)
    if (draft.turnIsOver) yield
  }
  draft.commit()
  const rest = at < found.places.length ? indexedAt(found.places[at] as string).life : undefined
  for (const session of found.wholeSessions) {
    // The places of sessions come first, in this order.
    if (rest?.kind === 'session' && rest.number <= session) break
    state.lives.forget(session)
  }
  state.meta.expiring = rest !== undefined || found.isCut
  if (rest?.kind === 'due') state.lives.nextIs(rest.number)
  else if (rest === undefined && found.next !== undefined) state.lives.nextIs(found.next ?? undefined)
  return undefined
}

/** The bytes of its value. */
function removeKey({ lives }: State, draft: Draft, { place, life, key }: Indexed): number {
  const row = draft.row(key)
  if (row === undefined || !isSame(lifeOf(row), life)) {
    lives.removePlace(place)
    return 0
  }
  draft.delete(key, life.kind === 'due' ? EVENT.expired : EVENT.session)
  return valueLength(row)
}

const isSame = (a: Life | undefined, b: Life): boolean => a?.kind === b.kind && a.number === b.number
