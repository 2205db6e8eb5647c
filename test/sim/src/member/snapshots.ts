// Driver: snapshots of a member: taken, kept, handed out in pieces, received and installed. One disk sequence
// at a time.
//
// Laws
//   - the log is compacted only behind a snapshot whose name is durable (S15)
//   - a received snapshot is in use only once it is complete and durable; until then the old state stays (S4)

import { assert } from '@latchkey/base'
import type { Effect, Entry, LogPosition, MemberId, Membership } from '@latchkey/raft/core'
import type { MemberParts } from './parts.js'
import { type Snapshot, writeSnapshot } from './snapshot-file.js'

type Stage = Extract<Effect, { type: 'stageSnapshot' }>

interface Placed {
  readonly position: LogPosition
  readonly membership: Membership
}

export class Snapshots {
  readonly #member: MemberParts
  readonly #step: (effects: readonly Effect[]) => void
  #latest: Snapshot | undefined
  /** Frozen views on their way to others: a transfer goes on with the one it began with. */
  readonly #sending = new Map<MemberId, Snapshot>()
  /** Transfers under way, with a view or still without one. */
  readonly #wanted = new Set<MemberId>()
  /** Places where the log may start, oldest first: applied entries since the last compaction. */
  #applied: Placed[] = []
  #staged: { readonly of: Stage; readonly chunks: Uint8Array[]; size: number } | undefined
  #writing = false
  #toInstall: Snapshot | undefined
  installing = false

  constructor(member: MemberParts, latest: Snapshot | undefined, step: (effects: readonly Effect[]) => void) {
    this.#member = member
    this.#latest = latest
    this.#step = step
  }

  get pending(): string | undefined {
    if (this.#writing) return 'a snapshot being written'
    // One that is no longer needed is dropped with the next that begins.
    const wanted = this.#staged !== undefined && this.#staged.of.position.index > this.#member.applied
    if (wanted) return 'a snapshot half received'
    return this.#sending.size > 0 ? `a snapshot for ${[...this.#sending.keys()]}` : undefined
  }

  noteApplied({ index, term, time }: Entry, membership: Membership): void {
    this.#applied.push({ position: { index, term, time }, membership })
  }

  // ---- own snapshots and compaction

  maybeCompact(): void {
    const { applied, options } = this.#member
    if (applied - (this.#latest?.position.index ?? 0) >= options.snapshotEvery) this.compact()
  }

  compact(): void {
    if (this.#writing || this.installing || this.#applied.length === 0) return
    const snapshot = this.#freeze()
    if (snapshot === undefined) return
    this.#writing = true
    writeSnapshot(this.#member.host.disk, snapshot, (ok) => {
      if (!ok) return this.#member.host.stop('a snapshot could not be synced')
      this.#member.host.enter(() => this.#written(snapshot))
    })
  }

  #freeze(): Snapshot | undefined {
    const last = this.#applied[this.#applied.length - 1]
    if (last === undefined) return this.#latest
    return { ...last, state: this.#member.machine.save(this.#member.options.paddingBytes) }
  }

  #written(snapshot: Snapshot): void {
    this.#writing = false
    this.#latest = snapshot
    const { raft, options, journal } = this.#member
    const target = snapshot.position.index - options.trailing
    const place = this.#applied.findLast(({ position }) => position.index <= target)
    if (place !== undefined && place.position.index >= raft.firstIndex) {
      this.#applied = this.#applied.filter(({ position }) => position.index > place.position.index)
      raft.compact(place.position.index)
      journal.compact(place.position, place.membership)
    }
    this.#installNext()
  }

  // ---- to others

  /**
   * The core wants the bytes from `offset` of the view at `position`, or of a new one. Reading takes a
   * moment.
   */
  read(to: MemberId, offset: number, position: LogPosition | undefined): void {
    const { host } = this.#member
    this.#wanted.add(to)
    host.after(host.random.between(20, 500), (now) => {
      const { raft } = this.#member
      if (!this.#wanted.has(to)) return
      let snapshot = this.#sending.get(to)
      if (snapshot === undefined || snapshot.position.index !== position?.index) {
        snapshot = this.#freeze()
        if (snapshot === undefined) return this.#step(raft.snapshotFailed(to, now))
        this.#sending.set(to, snapshot)
        return this.#chunk(to, snapshot, 0, now)
      }
      this.#chunk(to, snapshot, offset, now)
    })
  }

  #chunk(to: MemberId, { position, membership, state }: Snapshot, offset: number, now: number): void {
    const end = Math.min(state.length, offset + this.#member.options.chunkBytes)
    const chunk = state.slice(offset, end)
    const piece = { to, position, membership, offset, chunk, done: end === state.length }
    this.#step(this.#member.raft.snapshotChunk(piece, now))
  }

  endFor(to: MemberId): void {
    this.#sending.delete(to)
    this.#wanted.delete(to)
  }

  // ---- from the leader

  stage(piece: Stage): void {
    if (piece.offset === 0) this.#staged = { of: piece, chunks: [], size: 0 }
    const staged = this.#staged
    // The core takes pieces in order (S4): a driver that were to skip the others in silence would hide a core
    // that does not.
    assert(
      staged !== undefined && staged.size === piece.offset,
      'a piece of a snapshot is handed over out of its order (S4)',
    )
    staged.chunks.push(piece.chunk)
    staged.size += piece.chunk.length
    if (!piece.done) return
    this.#staged = undefined
    const { position, membership } = staged.of
    this.#toInstall = { position, membership, state: Buffer.concat(staged.chunks) }
    this.installing = true
    this.#member.host.watcher.installing(this.#member.host.id)
    this.#installNext()
  }

  #installNext(): void {
    const snapshot = this.#toInstall
    if (snapshot === undefined || this.#writing) return
    this.#toInstall = undefined
    this.#writing = true
    const { host } = this.#member
    writeSnapshot(host.disk, snapshot, (ok) => {
      if (!ok) return host.stop('a received snapshot could not be synced')
      host.enter((now) => this.#installed(snapshot, now))
    })
  }

  #installed(snapshot: Snapshot, now: number): void {
    this.#writing = false
    this.installing = false
    this.#latest = snapshot
    this.#applied = [{ position: snapshot.position, membership: snapshot.membership }]
    const effects = this.#member.raft.snapshotInstalled(snapshot.position, snapshot.membership, now)
    this.#member.installed(snapshot)
    this.#step(effects)
    this.#installNext()
  }
}
