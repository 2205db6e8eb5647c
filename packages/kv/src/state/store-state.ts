// Driver: owns the whole state of a store: tables that are in memory, tables with an overlay over the row
// store, and the meta row.
//
// Law: `collect` returns the net effect of whole entries, together with the meta row, which names the last of
// these entries (A2). No caller calls `collect` while an entry is half applied.

import type { RowChange, RowStore } from '../storage/row-store-interface.js'
import { META_KEY, SPACE } from '../keyspaces.js'
import type { Row } from '../storage/row-store-interface.js'
import { storedChecksum } from '../storage/stored-row-checksum.js'
import type { KvLimits, StateHash } from '../kv-store-types.js'
import type { WorkInTurns } from '../work-in-event-loop-turns.js'
import { Counters } from './fencing-counters.js'
import { Events } from './key-event-history.js'
import { Holds } from './lock-holds.js'
import { LockCounts } from './lock-counts.js'
import { type Meta, decodeMeta, emptyMeta, encodeMeta } from './meta-row.js'
import { KeyExpiryIndex } from './key-expiry-index.js'
import { Parties } from './latches-and-barriers.js'
import { RowTable } from './row-table-with-overlay.js'
import { SemaphoreSizes } from './semaphore-sizes.js'
import { Sessions } from './sessions.js'
import { RowSetHash } from './row-set-hash.js'
import { Waiters } from './lock-waiters.js'

export class State {
  readonly store: RowStore
  readonly meta: Meta
  readonly data: RowTable
  readonly sequences: RowTable
  readonly events: Events
  readonly sessions: Sessions
  readonly lockCounts = new LockCounts()
  readonly holds = new Holds(this.lockCounts)
  readonly semaphores = new SemaphoreSizes()
  readonly waiters = new Waiters(this.lockCounts)
  readonly counters: Counters
  readonly expiryIndex: KeyExpiryIndex
  readonly parties: Parties

  private constructor(store: RowStore, meta: Meta, limits: KvLimits) {
    this.store = store
    this.meta = meta
    this.data = new RowTable(SPACE.data, store, meta.sums.data)
    this.sequences = new RowTable(SPACE.sequences, store, meta.sums.sequences)
    this.events = new Events(meta, store, limits)
    this.sessions = new Sessions(store)
    this.counters = new Counters(meta)
    this.expiryIndex = new KeyExpiryIndex(store, meta.sums.expiry)
    this.parties = new Parties(meta)
  }

  /**
   * Reads the rows that stay in memory. The rows of data, sequences, events and expiring keys stay in the
   * store.
   */
  static async load(store: RowStore, limits: KvLimits): Promise<State> {
    const row = store.get(META_KEY)
    const state = new State(store, row === undefined ? emptyMeta() : decodeMeta(row), limits)
    await state.sessions.load()
    await state.holds.load(store)
    await state.semaphores.load(store)
    await state.waiters.load(store)
    await state.counters.load(store)
    await state.parties.load(store)
    await state.expiryIndex.load(store, (session) => state.sessions.get(session) !== undefined)
    return state
  }

  /** About how many bytes of changes, without the events, the next batch will have. */
  get pendingBytes(): number {
    return this.data.bytes + this.sequences.bytes + this.expiryIndex.rows.bytes + this.sessions.pendingBytes
  }

  get pendingEventBytes(): number {
    return this.events.pendingBytes
  }

  /** How many rows must be encoded again to compute the state hash. */
  get residentRows(): number {
    return (
      this.sessions.rowCount +
      this.holds.size +
      this.semaphores.size +
      this.waiters.size +
      this.counters.size +
      this.parties.rowCount
    )
  }

  collect(): RowChange[] {
    const batch: RowChange[] = []
    this.data.collect(batch)
    this.sequences.collect(batch)
    this.expiryIndex.rows.collect(batch)
    this.events.collect(batch)
    this.sessions.collect(batch)
    this.holds.collect(batch)
    this.semaphores.collect(batch)
    this.waiters.collect(batch)
    this.counters.collect(batch)
    this.parties.collect(batch)
    batch.push({ key: META_KEY, value: encodeMeta(this.meta) })
    return batch
  }

  /** Called after the last collected batch is on the disk. The tables then read its rows from the store. */
  written(): void {
    this.data.written()
    this.sequences.written()
    this.expiryIndex.rows.written()
    this.events.written()
    this.sessions.written()
  }

  /**
   * The earliest cluster time at which a session, a wait, a hold or a key ends (CT4). The leader makes an
   * entry at this time, even if no command waits. Undefined if there is no deadline.
   */
  nextDeadline(): number | undefined {
    const locks = [
      this.sessions.earliest(),
      this.waiters.earliest(),
      this.holds.earliest(),
      this.parties.earliest(),
    ]
    const deadlines = [...locks, this.expiryIndex.nextExpiry(this.meta)]
    const known = deadlines.filter((deadline) => deadline !== undefined)
    return known.length === 0 ? undefined : Math.min(...known)
  }

  hash(): StateHash {
    const steps = this.hashInTurns()
    for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value
  }

  /**
   * Computes the state hash in several steps, so that the event loop can run between two steps. The caller
   * must apply nothing until the hash is complete.
   */
  *hashInTurns(): WorkInTurns<StateHash> {
    const { sums, position } = this.meta
    const { sessions, replies } = yield* this.#sessionSums()
    const parties = this.parties.rows
    const spaces = {
      meta: (yield* sumOf([{ key: META_KEY, value: encodeMeta(this.meta) }])).toString(),
      data: sums.data.toString(),
      sequences: sums.sequences.toString(),
      events: sums.events.toString(),
      expiry: sums.expiry.toString(),
      sessions: sessions.toString(),
      replies: replies.toString(),
      holds: (yield* sumOfChecksums(this.holds.checksums('holds'))).toString(),
      shared: (yield* sumOfChecksums(this.holds.checksums('shared'))).toString(),
      semaphores: (yield* sumOf(this.semaphores.rows())).toString(),
      waiters: (yield* sumOf(this.waiters.rows())).toString(),
      counters: (yield* sumOf(this.counters.rows())).toString(),
      latches: (yield* sumOf(parties.latches)).toString(),
      barriers: (yield* sumOf(parties.barriers)).toString(),
      parties: (yield* sumOf(parties.parties)).toString(),
    }
    return { position, hash: Object.values(spaces).join('/'), spaces }
  }

  *#sessionSums(): WorkInTurns<{ readonly sessions: RowSetHash; readonly replies: RowSetHash }> {
    const sessions = new RowSetHash()
    const replies = new RowSetHash()
    let rows = 0
    for (const { key, value } of this.sessions.rows()) {
      const sum = key[0] === SPACE.sessions ? sessions : replies
      sum.add(storedChecksum(value))
      if (++rows % HASHED_A_TURN === 0) yield
    }
    return { sessions, replies }
  }
}

/** The most rows that are hashed in one turn of the event loop, in about ten milliseconds. */
const HASHED_A_TURN = 2_000
function* sumOf(rows: Iterable<Row>): WorkInTurns<RowSetHash> {
  return yield* sumOfChecksums(checksumsOf(rows))
}

function* checksumsOf(rows: Iterable<Row>): Iterable<number> {
  for (const { value } of rows) yield storedChecksum(value)
}

function* sumOfChecksums(checksums: Iterable<number>): WorkInTurns<RowSetHash> {
  const sum = new RowSetHash()
  let rows = 0
  for (const checksum of checksums) {
    sum.add(checksum)
    if (++rows % HASHED_A_TURN === 0) yield
  }
  return sum
}
