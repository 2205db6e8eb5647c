// Rule: removes keys whose ttl or session has ended, a limited number in each entry.
//
// Laws
// - A key is removed at an entry whose cluster time is after the end of the key's ttl, or after the end of
//   its session. A key is never removed earlier. A read never removes or hides a key.
// - The state and the entry's cluster time alone decide which entries remove which keys. An entry removes
//   keys in three cases: it is the first entry of a tenth of a second of cluster time, the entry before could
//   not remove all due keys, or a session with keys has ended.
// - The rows and bytes that one entry removes are limited. Without this limit: a million keys have the same
//   ttl, every member stops for a minute, and the cluster has no leader.
// - All keys that one entry removes have one revision. An entry that removes no key takes no revision.
// - A key is removed only if its row has the same expiry as the index (key-expiry-index.ts).

import { EVENT } from '@latchkey/protocol'
import { type Expiry, expiryOf, valueLength } from '../state/key-value-row-format.js'
import { type Indexed, indexedAt, periodOf } from '../state/key-expiry-index-rows.js'
import type { State } from '../state/store-state.js'
import type { WorkInTurns } from '../work-in-event-loop-turns.js'
import type { WriteSet } from './command-write-set.js'
import type { FoundExpiry, NeededExpiry } from './ranges-needed-by-command.js'

/**
 * EXPIRED_AN_ENTRY: the most keys that one entry removes. BYTES_AN_ENTRY: after this many bytes of keys and
 * values, the entry removes no further key.
 */
export const EXPIRED_AN_ENTRY = 500
const BYTES_AN_ENTRY = 512 * 1024

/**
 * Returns the part of the index to read, or undefined if the entry removes no key. `now` is the cluster time
 * of the entry.
 */
export function neededExpiry({ meta, expiryIndex }: State, now: number): NeededExpiry | undefined {
  const isFirst = periodOf(now) > periodOf(meta.position.time)
  if (!isFirst && !meta.expiring && !expiryIndex.hasOver()) return undefined
  const earliest = expiryIndex.earliest()
  if (earliest === undefined || earliest >= now) {
    meta.expiring = false
    return undefined
  }
  const sessions = expiryIndex.sessionsOver()
  const spans = [...sessions.map((session) => expiryIndex.spanOfSession(session)), expiryIndex.spanOfDue()]
  return { sessions, spans, now, most: EXPIRED_AN_ENTRY }
}

export function* removeKeys(state: State, writeSet: WriteSet, found: FoundExpiry): WorkInTurns<undefined> {
  let bytes = 0
  let removed = 0
  for (const indexKey of found.indexKeys) {
    if (bytes >= BYTES_AN_ENTRY) break
    removed++
    const indexed = indexedAt(indexKey)
    bytes += indexed.key.length + removeKey(state, writeSet, indexed)
    if (writeSet.turnIsOver) yield
  }
  writeSet.commit()
  const next = found.indexKeys[removed]
  const rest = next === undefined ? undefined : indexedAt(next).expiry
  for (const session of found.wholeSessions) {
    // In `found.indexKeys`, the keys of sessions come first, in the order of the sessions. If the first key
    // that was not removed belongs to a session, this session and all later sessions may still have keys.
    if (rest?.kind === 'session' && rest.number <= session) break
    state.expiryIndex.forget(session)
  }
  state.meta.expiring = rest !== undefined || found.isCut
  if (rest?.kind === 'due') state.expiryIndex.nextIs(rest.number)
  else if (rest === undefined && found.next !== undefined) state.expiryIndex.nextIs(found.next ?? undefined)
  return undefined
}

/**
 * Removes one key and returns the number of bytes of its value. If the key's row has another expiry than the
 * index, removes only the row of the index and returns 0.
 */
function removeKey({ expiryIndex }: State, writeSet: WriteSet, { indexKey, expiry, key }: Indexed): number {
  const row = writeSet.row(key)
  if (row === undefined || !isSame(expiryOf(row), expiry)) {
    expiryIndex.removeIndexRow(indexKey)
    return 0
  }
  writeSet.delete(key, expiry.kind === 'due' ? EVENT.expired : EVENT.session)
  return valueLength(row)
}

const isSame = (a: Expiry | undefined, b: Expiry): boolean => a?.kind === b.kind && a.number === b.number
