// Driver: owns the index of the keys that expire, ordered by time or by session. The index is in stored rows,
// so a million keys with a ttl take no memory. docs/keys.md has the promises to users.
//
// Laws
// - Only the row of a key decides when the key expires. The index only finds the keys. Every key with a ttl
//   or a session is in the index. After a range was cleared, the index may still have rows of removed keys.
// - `earliest` is never later than the earliest end of a ttl in the index. Otherwise one member could skip a
//   removal at an entry at which another member removes the key, and their states would differ.
// - A session that has put an ephemeral key stays in the index after its end, until its keys are removed. So
//   the keys are also removed if the session is lost in a restart, a snapshot or a restore.

import { binary } from '@latchkey/base'
import { SPACE, keyOfBinary, numberIn } from '../keyspaces.js'
import type { KeySpan } from '../rules/ranges-needed-by-command.js'
import { pagesOf } from '../storage/scan-rows.js'
import { withChecksum } from '../storage/stored-row-checksum.js'
import type { RowStore } from '../storage/row-store-interface.js'
import { type Expiry, hasExpiry, expiryOf } from './key-value-row-format.js'
import { KIND, PERIOD, indexedAt, periodOf, indexKeyOf } from './key-expiry-index-rows.js'
import type { Meta } from './meta-row.js'
import { RowTable } from './row-table-with-overlay.js'
import type { RowSetHash } from './row-set-hash.js'

/** The most ended sessions whose keys one entry removes. This limit bounds the work of one entry. */
const SESSIONS_AT_ONCE = 16

export class KeyExpiryIndex {
  readonly rows: RowTable
  /** In cluster time: no ttl in the index ends before this time. Undefined if no key has a ttl. */
  #earliest: number | undefined
  /** The sessions that have put ephemeral keys, ended or not. */
  readonly #sessionsWithKeys = new Set<number>()
  /** The ended sessions whose ephemeral keys are not removed yet. */
  readonly #over = new Set<number>()

  constructor(store: RowStore, sum: RowSetHash) {
    this.rows = new RowTable(SPACE.expiry, store, sum)
  }

  /**
   * The earliest cluster time at which a key may expire, or -1 if the next entry must remove keys of an ended
   * session. Undefined if no key can expire.
   */
  earliest(): number | undefined {
    return this.#over.size > 0 ? -1 : this.#earliest
  }

  /**
   * The earliest cluster time of an entry that can remove a key (CT4). The leader makes an entry at this
   * time, even if no command waits. Undefined if no key can expire.
   */
  nextExpiry({ position, expiring }: Meta): number | undefined {
    const earliest = this.earliest()
    if (earliest === undefined || earliest < 0 || expiring) return earliest
    return Math.max(earliest, (periodOf(position.time) + 1) * PERIOD - 1)
  }

  hasOver(): boolean {
    return this.#over.size > 0
  }

  mayHaveKeys(session: number): boolean {
    return this.#sessionsWithKeys.has(session)
  }

  /**
   * Updates the index for a changed row of a key. `before` and `now` are undefined if the key does not exist.
   */
  changed(key: string, before: Uint8Array | undefined, now: Uint8Array | undefined): void {
    if (before !== undefined && hasExpiry(before)) this.#remove(key, expiryOf(before) as Expiry)
    if (now !== undefined && hasExpiry(now)) this.#add(key, expiryOf(now) as Expiry)
  }

  #add(key: string, { kind, number }: Expiry): void {
    this.#set(indexKeyOf(KIND[kind], number, key))
    if (kind === 'due') this.#earliest = Math.min(this.#earliest ?? number, number)
    else if (!this.#sessionsWithKeys.has(number)) {
      this.#sessionsWithKeys.add(number)
      this.#set(indexKeyOf(KIND.sessionWithKeys, number))
    }
  }

  #set(indexKey: string): void {
    const value = withChecksum(keyOfBinary(SPACE.expiry, indexKey), NOTHING)
    this.rows.set(indexKey, value, this.rows.get(indexKey))
  }

  #remove(key: string, { kind, number }: Expiry): void {
    this.removeIndexRow(indexKeyOf(KIND[kind], number, key))
  }

  removeIndexRow(indexKey: string): void {
    const row = this.rows.get(indexKey)
    if (row !== undefined) this.rows.set(indexKey, null, row)
  }

  sessionOver(session: number): void {
    if (this.#sessionsWithKeys.has(session)) this.#over.add(session)
  }

  /** Returns the ended sessions with the lowest ids, so that every member takes the same sessions. */
  sessionsOver(): number[] {
    return [...this.#over].sort((a, b) => a - b).slice(0, SESSIONS_AT_ONCE)
  }

  /** Removes an ended session from the index. Called after the session's last key was removed. */
  forget(session: number): void {
    this.#over.delete(session)
    this.#sessionsWithKeys.delete(session)
    this.removeIndexRow(indexKeyOf(KIND.sessionWithKeys, session))
  }

  spanOfSession(session: number): KeySpan {
    return { start: indexKeyOf(KIND.session, session), end: indexKeyOf(KIND.session, session + 1) }
  }

  /**
   * Returns the range of the index for keys with a ttl. If the range began at 0, LevelDB would step over many
   * removed rows, which is slow.
   */
  spanOfDue(): KeySpan {
    return { start: indexKeyOf(KIND.due, Math.max(0, this.#earliest ?? 0)), end: indexKeyOf(KIND.session, 0) }
  }

  /** Sets the earliest end of a ttl. Called when all keys with an earlier end have been removed. */
  nextIs(due: number | undefined): void {
    this.#earliest = due
  }

  async load(store: RowStore, isOpen: (session: number) => boolean): Promise<void> {
    const view = store.view()
    try {
      const first = await view.page(rangeOf(this.spanOfDue()), 1, 1)
      const row = first.rows[0]
      this.#earliest = row && indexedAt(binary(row.key.subarray(1))).expiry.number
      const sessions = {
        start: indexKeyOf(KIND.sessionWithKeys, 0),
        end: indexKeyOf(KIND.sessionWithKeys + 1, 0),
      }
      for await (const page of pagesOf(view, rangeOf(sessions), true)) {
        for (const { key } of page) {
          const session = numberIn(key, 2)
          this.#sessionsWithKeys.add(session)
          if (!isOpen(session)) this.#over.add(session)
        }
      }
    } finally {
      view.close()
    }
  }
}

const NOTHING = new Uint8Array(0)

const rangeOf = ({ start, end }: KeySpan) => ({
  start: keyOfBinary(SPACE.expiry, start),
  end: keyOfBinary(SPACE.expiry, end),
})
