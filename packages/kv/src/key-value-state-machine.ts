// Driver: the state machine of the key-value store. The machine applies the entries of Raft's log, executes
// the commands in each entry, and returns one answer for each command. The decisions are in rules/, the data
// is in state/, and flusher.ts decides when data is written.
// long: the interface KvStore has many calls; each call is passed on to another file
//
// Laws
// - MA1: the machine applies entries in the order of the log, and each entry whole. Cluster time never goes
//   back (CT1).
// - MA2: after `apply` has thrown, the machine applies and writes nothing more, and the member stops (A4,
//   A5).
// - MA3: while an entry waits for rows or for another turn of the event loop, the machine writes nothing
//   (A2), and begins no other entry.
// - MA4: a snapshot replaces state, overlay, flusher and views together. After that, the machine uses none of
//   the old parts (S3).
// - MA5: the work in one turn of the event loop is limited, so that the member can send heartbeats
//   (rules/work-limit-per-event-loop-turn.ts).

import { elementAt, Histogram, type Logger, assert, silentLogger } from '@latchkey/base'
import { ownerOfHold } from '@latchkey/lock'
import { type Command, LatchkeyError, READ, type Read, WATCH_OF, type WatchOf } from '@latchkey/protocol'
import type { Entry, LogPosition, Membership } from '@latchkey/raft/core'
import type { Applied, AppliedState, SnapshotReader, SnapshotWriter } from '@latchkey/raft/node'
import { RowPrefetch } from './row-prefetch.js'
import { EndedWaits } from './latch-and-barrier-result-delivery.js'
import { Flusher } from './flusher.js'
import { StateDigest } from './state-row-digests.js'
import { StateHashSchedule } from './state-hash-schedule.js'
import { META_KEY } from './keyspaces.js'
import { DEFAULT_LIMITS } from './default-limits.js'
import { lookUp } from './stored-rows-for-range-commands.js'
import { SessionsInState } from './session-queries.js'
import { RangeSurveys } from './delete-range-row-counts.js'
import { assertRead, pointRead } from './reads-from-current-state.js'
import type { RowBuilder, RowStore, RowView } from './storage/row-store-interface.js'
import { EntryRun, type Waiting } from './rules/apply-entry.js'
import { NOTHING_FOUND, type Needed } from './rules/ranges-needed-by-command.js'
import { StateLockTransaction } from './rules/tables-for-lock-rules.js'
import { WorkOfTurn } from './rules/work-limit-per-event-loop-turn.js'
import { weightOf } from './rules/apply-cost-estimate.js'
import { readView } from './snapshot/send-state.js'
import { StreamedState } from './snapshot/receive-state.js'
import { emptyMeta, encodeMeta } from './state/meta-row.js'
import { State } from './state/store-state.js'
import type {
  KeyRange,
  KvLimits,
  KvOptions,
  KvStore,
  StateHash,
  StoreFigures,
  Watch,
  WatchSink,
} from './kv-store-types.js'
import { Views } from './read-views.js'
import { AllWatches } from './all-watches.js'
import { LockEvents } from './state/lock-events.js'

type MembershipAt = (index: number) => Membership

interface Running {
  readonly state: State
  readonly flusher: Flusher
}

export class KvMachine implements KvStore {
  readonly #options: KvOptions
  readonly #limits: KvLimits
  readonly #logger: Logger
  readonly #views: Views
  readonly #ahead: RowPrefetch
  readonly openSessions: SessionsInState
  readonly #hashes: StateHashSchedule
  readonly #turns = { next: () => this.#nextTurn() }
  readonly #turn = new WorkOfTurn()
  readonly #surveys: RangeSurveys
  readonly #endedWaits: EndedWaits
  /** The time of each write of a batch in seconds, for metrics. */
  readonly #writes = new Histogram()
  #running: Running | undefined
  #watches: AllWatches | undefined
  #lockEvents = new LockEvents({ index: 0, time: 0 })
  #stopped: LatchkeyError | undefined
  #busy: 'applying' | 'swapping' | undefined

  constructor(options: KvOptions) {
    this.#options = options
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#logger = options.logger ?? silentLogger
    const turns = { next: () => new Promise<void>((resolve) => options.nextTurn(resolve)) }
    this.openSessions = new SessionsInState(options.clock, this.#limits, () =>
      this.#stopped === undefined ? this.#running?.state : undefined,
    )
    this.#hashes = new StateHashSchedule(options.onStateHash, this.#turns)
    this.#surveys = new RangeSurveys(options.clock, this.#limits, turns)
    this.#endedWaits = new EndedWaits(options.ended, options.nextTurn)
    this.#ahead = new RowPrefetch(options.later, () => this.#up.state)
    this.#views = new Views(options.clock, this.#limits, {
      revision: () => this.#up.state.meta.revision,
      rows: () => this.#freeze(),
      backup: () => this.snapshot(),
    })
  }

  // ---- Opening and closing

  async open(): Promise<AppliedState | undefined> {
    assert(this.#running === undefined, 'a store is opened once')
    const store = (await this.#options.storage.open()) ?? (await this.#firstStore())
    await this.#run(store)
    const { state } = this.#up
    this.#watches = new AllWatches(this.#options.clock, this.#logger, this.#limits, state, this.#lockEvents)
    const { position, membership } = state.meta
    return position.index === 0 ? undefined : { position, membership }
  }

  async #firstStore(): Promise<RowStore> {
    const builder = await this.#options.storage.build()
    try {
      await builder.write([{ key: META_KEY, value: encodeMeta(emptyMeta()) }])
    } catch (error) {
      await builder.abort().catch(() => {})
      throw error
    }
    await builder.commit()
    const store = await this.#options.storage.open()
    assert(store !== undefined, 'a store that was committed is there')
    return store
  }

  async #run(store: RowStore): Promise<void> {
    try {
      const state = await State.load(store, this.#limits)
      const flusher = new Flusher(this.#options.clock, state, this.#limits, this.#writes, (error) =>
        this.#fail(error),
      )
      this.#running = { state, flusher }
      this.#lockEvents = new LockEvents(state.meta.position)
    } catch (error) {
      await store.close()
      throw error
    }
  }

  get #up(): Running {
    if (this.#stopped !== undefined) throw this.#stopped
    assert(this.#running !== undefined, 'the store is not open')
    return this.#running
  }

  async close(): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    if (this.#stopped === undefined) await running.flusher.flush().catch(() => {})
    const closed = new LatchkeyError('ERR_CLOSED')
    this.#stopped ??= closed
    this.#running = undefined
    this.#watches?.closeAll(closed)
    this.#views.closeAll()
    await running.flusher.stop(closed)
    await running.state.store.close()
  }

  #fail(error: LatchkeyError): void {
    if (this.#stopped !== undefined) return
    this.#stopped = error
    this.#logger.error('the state machine stops', { code: error.code, error: error.message })
    void this.#running?.flusher.stop(error)
    this.#watches?.closeAll(error)
    this.#options.failed?.(error)
  }

  // ---- Applying entries

  apply(
    entries: readonly Entry[],
    membershipAt: MembershipAt,
  ): readonly Applied[] | Promise<readonly Applied[]> {
    const { state, flusher } = this.#up
    assert(this.#busy === undefined, `apply while ${String(this.#busy)}`)
    const results: Applied[] = []
    this.#turn.begin()
    try {
      for (const [i, entry] of entries.entries()) {
        const run = this.#begin(state, entry)
        const waiting = run.proceed()
        if (waiting !== undefined)
          return this.#applyWaiting(entries, i, { run, waiting }, results, membershipAt)
        const before = state.meta.position.time
        results.push(this.#finish(state, entry, run, membershipAt))
        const onStateHash = this.#hashes.passed(state, before)
        if (onStateHash !== undefined)
          return this.#applyWaiting(entries, i + 1, { onStateHash }, results, membershipAt)
      }
    } catch (error) {
      throw this.#applyFailed(error)
    }
    flusher.applied()
    this.#watches?.pump()
    return flusher.overfull ? flusher.flush().then(() => results) : results
  }

  #begin(state: State, entry: Entry): EntryRun {
    const { index, time } = state.meta.position
    assert(entry.index === index + 1, `entry ${entry.index} behind ${index}`)
    assert(entry.time >= time, `the time of entry ${entry.index} goes back`)
    const locks = new StateLockTransaction(
      state,
      entry.time,
      (row) => this.#options.granted?.(row.session, row.key, ownerOfHold(row, entry.time)),
      this.#lockEvents,
    )
    return new EntryRun({ state, locks, caps: this.#limits, turn: this.#turn }, entry, this.#limits)
  }

  #finish(state: State, entry: Entry, run: EntryRun, membershipAt: MembershipAt): Applied {
    const { index, term, time } = entry
    state.meta.position = { index, term, time }
    state.meta.membership = membershipAt(index)
    this.#lockEvents.close(index)
    this.#endedWaits.pass(state.parties.takeEnded())
    return { index, answers: entry.kind === 'commands' ? run.answers : undefined }
  }

  /**
   * Applies the entries of the list from the index `from` on. If `begun.waiting` is given, the first of these
   * entries has begun, and waits for rows or for another turn of the event loop. If `begun.onStateHash` is
   * given, this promise must settle before the first entry begins (MA3).
   */
  async #applyWaiting(
    entries: readonly Entry[],
    from: number,
    begun: { readonly run?: EntryRun; readonly waiting?: Waiting; readonly onStateHash?: Promise<unknown> },
    results: Applied[],
    membershipAt: MembershipAt,
  ): Promise<readonly Applied[]> {
    const { state, flusher } = this.#up
    this.#busy = 'applying'
    try {
      // The flusher need not be held during this wait, because no entry is half applied here. `#waitFor`
      // waits within an entry, and holds the flusher.
      if (begun.onStateHash !== undefined) await begun.onStateHash
      for (let i = from; i < entries.length; i++) {
        if (this.#stopped !== undefined) throw this.#stopped
        const entry = elementAt(entries, i)
        const run = (i === from ? begun.run : undefined) ?? this.#begin(state, entry)
        const waiting = (i === from ? begun.waiting : undefined) ?? run.proceed()
        if (waiting !== undefined) await this.#waitFor(run, waiting)
        const before = state.meta.position.time
        results.push(this.#finish(state, entry, run, membershipAt))
        if (waiting !== undefined) flusher.release()
        const onStateHash = this.#hashes.passed(state, before)
        if (onStateHash !== undefined) await onStateHash
      }
      if (this.#stopped !== undefined) throw this.#stopped
    } catch (error) {
      throw this.#applyFailed(error)
    } finally {
      this.#busy = undefined
    }
    flusher.applied()
    this.#watches?.pump()
    if (flusher.overfull) await flusher.flush()
    return results
  }

  /**
   * Applies the rest of an entry that has to wait for rows or for another turn of the event loop. Holds the
   * flusher. The caller releases the flusher after the whole entry, and never if the entry fails.
   */
  async #waitFor(run: EntryRun, first: Waiting): Promise<void> {
    const { state, flusher } = this.#up
    flusher.hold()
    for (let waiting: Waiting | undefined = first; waiting !== undefined; ) {
      const surveyed = waiting === 'turn' ? NOTHING_FOUND : this.#surveys.take(state, waiting)
      const found = surveyed ?? (await lookUp(state, waiting as Needed, this.#limits, this.#turns))
      await this.#nextTurn()
      if (this.#stopped !== undefined) throw this.#stopped
      waiting = run.proceed(found)
    }
  }

  async #nextTurn(): Promise<void> {
    await new Promise<void>((resolve) => this.#options.nextTurn(resolve))
    this.#turn.begin()
  }

  #applyFailed(error: unknown): LatchkeyError {
    const failure =
      error instanceof LatchkeyError
        ? error
        : new LatchkeyError(
            'ERR_STORAGE_FAILED',
            `Applying the log failed: ${String(error)}. This member stops.`,
            {
              cause: error,
            },
          )
    this.#fail(failure)
    return failure
  }

  // ---- Writing

  durable(): LogPosition {
    return this.#running?.flusher.durable ?? NOWHERE
  }

  flush(): Promise<void> {
    try {
      return this.#up.flusher.flush()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async reclaim(): Promise<void> {
    await this.flush()
    await this.#up.state.store.compact()
  }

  nextDeadline(): number | undefined {
    return this.#running?.state.nextDeadline()
  }

  /** Returns a view of the state, with at least all entries that were applied before the call. */
  async #freeze(): Promise<RowView> {
    await this.#up.flusher.flush()
    return this.#up.state.store.view()
  }

  // ---- Reading

  get position(): LogPosition {
    return this.#running?.state.meta.position ?? NOWHERE
  }

  get revision(): number {
    return this.#running?.state.meta.revision ?? 0
  }

  read(read: Read, now = 0, by?: string): unknown {
    const { state } = this.#up
    assertRead(read)
    if (read[0] === READ.page) return this.#views.page(read, by)
    if (read[0] === READ.backup) return this.#views.backupPiece(read, by)
    if (read[0] === READ.closeView) return this.closeViews([read[1]])
    if (read[0] === READ.lockHistory)
      return this.#lockEvents.historyOf(read[1], Math.max(now, state.meta.position.time))
    return pointRead(state, read, now)
  }

  expect(read: Read): void {
    this.#ahead.expect(read)
  }

  expectPut(body: Uint8Array): void {
    // While all rows are in memory, reading rows early saves nothing.
    if (this.#running?.state.data.isPrefetchUseful === true) this.#ahead.expectPut(body)
  }

  survey(body: Uint8Array): Promise<void> | undefined {
    return this.#running && this.#surveys.begin(this.#running.state, body)
  }

  closeViews(views: Iterable<number>): void {
    for (const view of views) this.#views.close(view)
  }

  get figures(): StoreFigures {
    const state = this.#stopped === undefined ? this.#running?.state : undefined
    return {
      watches: this.#watches?.size ?? 0,
      watchLags: this.#watches?.lags ?? { keys: 0, locks: 0, renewals: 0 },
      writes: this.#writes,
      level: state?.store.levelFigures?.(),
      longestWaits: state?.waiters.longest(state.meta.position.time),
    }
  }

  watch(range: KeyRange, from: number, sink: WatchSink, by?: string, of: WatchOf = WATCH_OF.keys): Watch {
    assert(this.#up !== undefined && this.#watches !== undefined, 'the store is not open')
    return this.#watches.open(of, range, from, sink, by)
  }

  stateHash(): StateHash {
    return this.#up.state.hash()
  }

  weigh(command: Command, bytes: number): number {
    return weightOf(command, bytes, (key) => this.#up.state.data.sizeOf(key))
  }

  async digestAt(index: number): Promise<StateDigest | undefined> {
    await this.#up.flusher.flush()
    const { state } = this.#up
    return state.meta.position.index === index ? new StateDigest(state.store.view()) : undefined
  }

  // ---- Snapshots

  async snapshot(): Promise<SnapshotReader> {
    return await readView(await this.#freeze())
  }

  async receive(state: AppliedState): Promise<SnapshotWriter> {
    assert(this.#up !== undefined, 'the store is open')
    return new StreamedState(state, await this.#options.storage.build(), (builder) => this.#adopt(builder))
  }

  /**
   * Replaces the state by a received snapshot. If an error interrupts this replacement, the next start of the
   * member may find the old or the new state. So the member stops.
   */
  async #adopt(builder: RowBuilder): Promise<void> {
    const old = this.#up
    assert(this.#busy === undefined, `a swap while ${String(this.#busy)}`)
    this.#busy = 'swapping'
    try {
      await old.flusher.stop(new LatchkeyError('ERR_CLOSED', 'Another state was installed.'))
      await builder.commit()
      const store = await this.#options.storage.open()
      assert(store !== undefined, 'a store that was committed is there')
      await this.#run(store)
      this.#views.closeAll()
      await old.state.store.close()
      await this.#options.storage.sweep()
      this.#watches?.moveTo(this.#up.state, this.#lockEvents)
    } catch (error) {
      throw this.#applyFailed(error)
    } finally {
      this.#busy = undefined
    }
  }
}

const NOWHERE: LogPosition = { index: 0, term: 0, time: 0 }
