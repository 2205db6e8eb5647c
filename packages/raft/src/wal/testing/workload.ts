// Test: a workload with entries, conflicts, votes, membership changes, a restart, rolls and compaction. A run
// of it remembers what was acknowledged, so that the log after a crash can be judged.

import type { PersistBatch } from '../../core/types.js'
import type { WalOptions } from '../log-types.js'
import type { FileSystem } from '../file-system-interface.js'
import type { Wal } from '../wal.js'
import {
  after,
  batch,
  differs,
  EMPTY_MODEL,
  entry,
  members,
  membersEntry,
  type Model,
  openWal,
} from './wal-fixture.js'

type Step = { readonly append: PersistBatch } | { readonly compact: number } | { readonly wait: true }

const big = (index: number, term: number) => entry(index, term, `big ${index} `.repeat(150))
const append = (parts: Partial<PersistBatch>): Step => ({ append: batch(parts) })

const WORKLOAD: readonly Step[] = [
  append({ hardState: { term: 1, vote: 'a' } }),
  append({ entries: [entry(1, 1), membersEntry(2, 1, members('a', 'b', 'c'))] }),
  { wait: true },
  append({ entries: [big(3, 1)] }),
  append({ entries: [entry(4, 1), big(5, 1)], hardState: { term: 2, vote: undefined } }),
  append({ truncateFrom: 5, entries: [entry(5, 2), entry(6, 2), membersEntry(7, 2, members('a', 'b'))] }),
  { wait: true },
  append({ entries: [big(8, 2), big(9, 2)] }),
  { wait: true },
  append({ entries: [entry(10, 2), entry(11, 2)] }),
  { compact: 6 },
  append({ entries: [big(12, 2)] }),
  append({ hardState: { term: 3, vote: 'b' } }),
  append({ truncateFrom: 7 }),
  append({ entries: [big(7, 3), big(8, 3)] }),
  { wait: true },
  append({ entries: [big(9, 3)] }),
  { wait: true },
  append({ entries: [big(10, 3)] }),
  { compact: 9 },
  { wait: true },
  append({ restartAfter: { position: { index: 40, term: 3, time: 400 }, membership: members('a', 'c') } }),
  append({ entries: [entry(41, 4), big(42, 4)], hardState: { term: 4, vote: 'c' } }),
  { wait: true },
  append({ entries: [big(43, 4), big(44, 4)] }),
  { wait: true },
  append({ entries: [big(45, 4)] }),
  { wait: true },
  { compact: 45 },
  append({ entries: [entry(46, 4)] }),
  { wait: true },
  append({ entries: [big(47, 4)] }),
  { wait: true },
  append({ truncateFrom: 46, entries: [big(46, 5), big(47, 5)] }),
  { wait: true },
  append({ entries: [big(48, 5)] }),
  append({ hardState: { term: 6, vote: 'a' } }),
  { wait: true },
  append({ entries: [entry(49, 6)] }),
  { compact: 48 },
  append({ entries: [entry(50, 6)] }),
  { wait: true },
]

export interface Run {
  /** models[i] is the content of the log after i batches. models[0] is the empty log. */
  readonly models: Model[]
  acknowledged: number
  compacted: number
  failed: unknown
}

export const newRun = (): Run => ({ models: [EMPTY_MODEL], acknowledged: 0, compacted: 0, failed: undefined })

/** Runs the workload to its end. Never resolves when the disk stops during the run. */
export async function runWorkload(fs: FileSystem, run: Run, more: Partial<WalOptions> = {}): Promise<Wal> {
  const { wal } = await openWal(fs, more)
  let last: Promise<void> = Promise.resolve()
  for (const step of WORKLOAD) {
    if ('wait' in step) await last
    else if ('compact' in step) {
      run.compacted = Math.max(run.compacted, step.compact)
      wal.compact(step.compact)
    } else last = appendStep(wal, run, step.append)
  }
  await last
  await wal.close()
  return wal
}

function appendStep(wal: Wal, run: Run, one: PersistBatch): Promise<void> {
  const number = run.models.push(after(run.models.at(-1) as Model, one)) - 1
  const written = new Promise<void>((done, fail) => {
    wal.append(one, (error) => {
      if (error === undefined) run.acknowledged = number
      else run.failed ??= error
      if (error === undefined) done()
      else fail(error)
    })
  })
  // Each caller of a later batch gets the failure too.
  written.catch(() => {})
  return written
}

/**
 * Opens the log after a crash and judges it: the log must have the content after some batch, and that batch
 * must not be earlier than the last acknowledged one. Returns the number of that batch. Also opens the log
 * again and writes to it.
 */
export async function judge(fs: FileSystem, run: Run): Promise<number> {
  const { wal, recovered } = await openWal(fs)
  await wal.close()
  const found = run.models.findIndex(
    (model, i) => i >= run.acknowledged && differs(model, recovered, run.compacted) === null,
  )
  if (found !== -1) return found
  const why = differs(run.models[run.acknowledged] ?? EMPTY_MODEL, recovered, run.compacted)
  throw new Error(`acknowledged ${run.acknowledged} of ${run.models.length - 1}, but found: ${why}`)
}
