// Rule: removes keys whose life is over, a limited number at each entry.
//
// Laws
// - A key is removed at an entry whose time is above the key's due time, or after the end of its session. It
//   is never removed earlier, not even for a read.
// - Which entries remove keys, and which keys, follows only from the state and the entry's time. An entry
//   removes keys if it is the first of its tenth of a second, if the entry before could not remove all, or if
//   a session that has keys has ended.
// - What one entry removes is limited in rows and bytes. Without this limit: a million keys are put with the
//   same ttl. An hour later every member stops for a minute, and none of them leads.
// - All keys that one entry removes take one revision; an entry that removes none takes no revision.
// - The index alone is not proof: a key is removed only if its own row has the life that the index says.

import { EVENT } from '@latchkey/protocol'
import { type Life, lifeOf, valueLength } from '../state/data-row.js'
import { type Indexed, indexedAt, periodOf } from '../state/life-rows.js'
import type { State } from '../state/state.js'
import type { InTurns } from './apply-turn.js'
import type { Draft } from './draft.js'
import type { FoundLives, NeededLives } from './needed-ranges.js'

/** One entry removes at most so many keys, and stops after so many bytes of keys and values. */
export const EXPIRED_AN_ENTRY = 500
const BYTES_AN_ENTRY = 512 * 1024

/** `now` is the time of the entry that begins. undefined: the entry removes no key. */
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
  let removed = 0
  for (const place of found.places) {
    if (bytes >= BYTES_AN_ENTRY) break
    removed++
    const indexed = indexedAt(place)
    bytes += indexed.key.length + removeKey(state, draft, indexed)
    if (draft.turnIsOver) yield
  }
  draft.commit()
  const next = found.places[removed]
  const rest = next === undefined ? undefined : indexedAt(next).life
  for (const session of found.wholeSessions) {
    // The keys of sessions come first in the list, in the order of the sessions. So the sessions before this
    // one have no keys left.
    if (rest?.kind === 'session' && rest.number <= session) break
    state.lives.forget(session)
  }
  state.meta.expiring = rest !== undefined || found.isCut
  if (rest?.kind === 'due') state.lives.nextIs(rest.number)
  else if (rest === undefined && found.next !== undefined) state.lives.nextIs(found.next ?? undefined)
  return undefined
}

/** Returns the bytes of the removed value. */
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
