// Test: helpers for the tests of the log: batches, opening a log, and a log's content as one comparable
// value.

import { type Logger, silentLogger } from '@latchkey/base'
import type { Entry, EntryKind, HardState, LogPosition, Membership, PersistBatch } from '../../core/types.js'
import { ManualClock } from '../../memory/manual-clock.js'
import type { MembershipCodec, Recovered, WalOptions } from '../log-types.js'
import type { FileSystem } from '../file-system-interface.js'
import { Wal } from '../wal.js'

const membershipCodec: MembershipCodec = {
  encode: (membership) => Buffer.from(JSON.stringify(membership)),
  decode: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as Membership,
}

export const members = (...voters: string[]): Membership => ({
  voters,
  outgoing: [],
  learners: [],
  learnersNext: [],
  peers: {},
})

export function entry(
  index: number,
  term: number,
  data = `entry ${index} of term ${term}`,
  kind: EntryKind = 'commands',
): Entry {
  return { index, term, time: index * 10, kind, data: Buffer.from(data) }
}

export const membersEntry = (index: number, term: number, membership: Membership): Entry => ({
  ...entry(index, term, '', 'members'),
  data: membershipCodec.encode(membership),
})

export const batch = (parts: Partial<PersistBatch>): PersistBatch => ({
  id: 0,
  hardState: undefined,
  truncateFrom: undefined,
  entries: [],
  restartAfter: undefined,
  ...parts,
})

function testOptions(fs: FileSystem, more: Partial<WalOptions> = {}): WalOptions {
  const clock = new ManualClock()
  return {
    fs,
    dir: '/data/wal',
    memberId: 'a',
    incarnation: 'first life',
    membership: membershipCodec,
    clock,
    growBytes: 512,
    segmentBytes: 2048,
    ...more,
  }
}

export const openWal = (fs: FileSystem, more: Partial<WalOptions> = {}) => Wal.open(testOptions(fs, more))

export const appended = (wal: Wal, parts: Partial<PersistBatch>): Promise<void> =>
  new Promise((done, fail) =>
    wal.append(batch(parts), (error) => (error === undefined ? done() : fail(error))),
  )

/** The content of a log: what a member would know after a restart. */
export interface Model {
  readonly hardState: HardState
  readonly start: LogPosition
  readonly voters: readonly string[]
  readonly clusterId: string
  readonly entries: readonly string[]
}

const drawn = (one: Entry): string =>
  `${one.index}/${one.term}@${one.time} ${one.kind} ${Buffer.from(one.data).toString()}`

export const modelOf = ({ hardState, start, identity, entries }: Recovered): Model => ({
  hardState,
  start: start.position,
  voters: start.membership.voters,
  clusterId: identity.clusterId,
  entries: entries.map(drawn),
})

export const EMPTY_MODEL: Model = {
  hardState: { term: 0, vote: undefined },
  start: { index: 0, term: 0, time: 0 },
  voters: [],
  clusterId: '',
  entries: [],
}

/** Returns the content of a log after one more batch. The log on disk is tested against this definition. */
export function after(model: Model, { hardState, truncateFrom, entries, restartAfter }: PersistBatch): Model {
  const keep = truncateFrom === undefined ? model.entries.length : truncateFrom - 1 - model.start.index
  const base =
    restartAfter === undefined
      ? { ...model, entries: model.entries.slice(0, keep) }
      : { ...model, start: restartAfter.position, voters: restartAfter.membership.voters, entries: [] }
  return {
    ...base,
    entries: [...base.entries, ...entries.map(drawn)],
    hardState: hardState ?? base.hardState,
  }
}

interface Warnings extends Logger {
  readonly warnings: { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }[]
}

export function listening(): Warnings {
  const warnings: Warnings['warnings'] = []
  return {
    ...silentLogger,
    warnings,
    warn: (message, fields = {}) => void warnings.push({ message, fields }),
  }
}

/** Returns null, or how a recovered log differs from `model`. Entries up to `compacted` may be missing. */
export function differs(model: Model, recovered: Recovered, compacted: number): string | null {
  const found = modelOf(recovered)
  const { index } = found.start
  if (index < model.start.index || index > Math.max(model.start.index, compacted))
    return `starts after ${index}`
  const gone = model.entries.slice(0, index - model.start.index)
  const place = `${index}/${found.start.term}@${found.start.time} `
  if (gone.length > 0 && !gone.at(-1)?.startsWith(place)) return `starts after ${place}, not ${gone.at(-1)}`
  if (gone.length === 0 && found.start.term !== model.start.term) return `starts in term ${found.start.term}`
  const said = gone.filter((one) => one.includes(' members ')).at(-1)
  const voters =
    said === undefined ? model.voters : (JSON.parse(said.slice(said.indexOf('{'))) as Membership).voters
  const wanted = { ...model, start: found.start, voters, entries: model.entries.slice(gone.length) }
  return JSON.stringify(wanted) === JSON.stringify(found)
    ? null
    : `${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`
}
