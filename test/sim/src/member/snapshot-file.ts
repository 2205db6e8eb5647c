// Driver: a member's snapshot on the simulated disk: beside the old one, synced, renamed, the name synced.

import type { LogPosition, Membership } from '@latchkey/raft/core'
import type { DiskHandle } from '../world/disk-handle.js'
import { readRecords, RecordWriter } from './journal-format.js'

const FILE = 'snapshot'
const FRESH = 'snapshot.tmp'

export interface Snapshot {
  readonly position: LogPosition
  readonly membership: Membership
  readonly state: Uint8Array
}

export function readSnapshot(disk: DiskHandle): Snapshot | undefined {
  const bytes = disk.read(FILE)
  if (bytes === undefined) return undefined
  const [base, body] = readRecords(bytes).records
  if (base?.type !== 'base' || body?.type !== 'entry') return undefined
  return { position: base.position, membership: base.membership, state: body.entry.data }
}

/** `done(false)`: the disk failed, and nobody knows what is there. */
export function writeSnapshot(disk: DiskHandle, snapshot: Snapshot, done: (ok: boolean) => void): void {
  const writer = new RecordWriter(0)
  const { index, term, time } = snapshot.position
  writer.base(0, snapshot.position, snapshot.membership)
  writer.entry({ index, term, time, kind: 'empty', data: snapshot.state })
  disk.remove(FRESH)
  disk.append(FRESH, writer.take())
  disk.sync(FRESH, (ok) => {
    if (!ok) return done(false)
    disk.rename(FRESH, FILE)
    disk.syncFolder(done)
  })
}
