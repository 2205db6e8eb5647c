// Driver: loads a copy of the compiled packages, with or without changes. Each copy has its own modules, so a
// run with a known bug has no effect on later runs.

import type { ClientStore } from '@latchkey/client'
import type { OneCluster } from '../../../../packages/client/dist/wrong-cluster-check.js'
import type { BatchReader, KvMachine, SimulatedRowDisk as RowsDisk, SimulatedRowStorage } from '@latchkey/kv'
import type { Watchdog } from '@latchkey/lock'
import type { decodeReplies, decodeRequests, encodeReplies, encodeRequests } from '@latchkey/protocol'
import type { MemoryDisk } from '@latchkey/raft/memory'
import type { Wal } from '@latchkey/raft/wal'
import type { EventLog } from '../../../../packages/kv/dist/storage/event-log.js'
import type {
  VALID_END_KEY,
  decodeValidEnd,
  encodeValidEnd,
} from '../../../../packages/kv/dist/storage/event-log-format.js'
import type { RowsWithEventLog, split } from '../../../../packages/kv/dist/storage/level-with-event-log.js'
import type { StateLockTransaction } from '../../../../packages/kv/dist/rules/tables-for-lock-rules.js'
import type { eventLogOnDisk } from '../../../../packages/kv/dist/testing/event-log-on-disk.js'
import type { Member } from '../../../../packages/latchkey/dist/member/member.js'
import type { ANONYMOUS } from '../../../../packages/latchkey/dist/member/rights.js'
import type { localRoute } from '../../../../packages/latchkey/dist/open/in-process-link.js'
import type { toMessage } from '../../../../packages/raft/dist/net/message-decoder.js'
import type { messageItem } from '../../../../packages/raft/dist/net/message-encoder.js'
import { type Change, changedCopy } from '../run/changed-packages.js'

export interface ProductModules {
  readonly Member: typeof Member
  readonly ANONYMOUS: typeof ANONYMOUS
  readonly localRoute: typeof localRoute
  readonly KvMachine: typeof KvMachine
  readonly SimulatedRowStorage: typeof SimulatedRowStorage
  readonly RowsDisk: typeof RowsDisk
  readonly EventLog: typeof EventLog
  readonly RowsWithEventLog: typeof RowsWithEventLog
  readonly split: typeof split
  readonly VALID_END_KEY: typeof VALID_END_KEY
  readonly decodeValidEnd: typeof decodeValidEnd
  readonly encodeValidEnd: typeof encodeValidEnd
  readonly eventLogOnDisk: typeof eventLogOnDisk
  readonly StateLockTransaction: typeof StateLockTransaction
  readonly BatchReader: typeof BatchReader
  readonly MemoryDisk: typeof MemoryDisk
  readonly Wal: typeof Wal
  readonly messageItem: typeof messageItem
  readonly toMessage: typeof toMessage
  readonly ClientStore: typeof ClientStore
  readonly OneCluster: typeof OneCluster
  readonly Watchdog: typeof Watchdog
  readonly encodeRequests: typeof encodeRequests
  readonly decodeRequests: typeof decodeRequests
  readonly encodeReplies: typeof encodeReplies
  readonly decodeReplies: typeof decodeReplies
}

const PACKAGES = ['base', 'protocol', 'raft', 'lock', 'kv', 'client', 'latchkey']
/** The packages of other authors that the packages above import. */
const OTHERS = ['msgpackr', 'ws', 'classic-level', 'memory-level', 'abstract-level']

const MODULES: Readonly<Record<string, readonly string[]>> = {
  'latchkey/dist/member/member.js': ['Member'],
  'latchkey/dist/member/rights.js': ['ANONYMOUS'],
  'latchkey/dist/open/in-process-link.js': ['localRoute'],
  'kv/dist/key-value-state-machine.js': ['KvMachine'],
  'kv/dist/storage/event-log.js': ['EventLog'],
  'kv/dist/storage/event-log-format.js': ['VALID_END_KEY', 'decodeValidEnd', 'encodeValidEnd'],
  'kv/dist/storage/level-with-event-log.js': ['RowsWithEventLog', 'split'],
  'kv/dist/testing/event-log-on-disk.js': ['eventLogOnDisk'],
  'kv/dist/rules/tables-for-lock-rules.js': ['StateLockTransaction'],
  'kv/dist/commands/entry-records.js': ['BatchReader'],
  'raft/dist/memory/simulated-disk.js': ['MemoryDisk'],
  'raft/dist/wal/wal.js': ['Wal'],
  'raft/dist/net/message-encoder.js': ['messageItem'],
  'raft/dist/net/message-decoder.js': ['toMessage'],
  'client/dist/store/create-store.js': ['ClientStore'],
  'client/dist/wrong-cluster-check.js': ['OneCluster'],
  'lock/dist/holding/renewing-watchdog.js': ['Watchdog'],
  'protocol/dist/client-frames.js': ['encodeRequests', 'decodeRequests', 'encodeReplies', 'decodeReplies'],
}

export interface LoadedProduct {
  readonly product: ProductModules
  /** Removes the files of the copy. */
  readonly remove: () => void
}

export async function loadProduct(changes: readonly Change[] = []): Promise<LoadedProduct> {
  const { load, remove } = changedCopy(PACKAGES, OTHERS, changes)
  try {
    const product: Record<string, unknown> = {}
    for (const [file, names] of Object.entries(MODULES)) {
      const exports = await load(file)
      for (const name of names) product[name] = exports[name]
    }
    const rows = await load('kv/dist/storage/simulated-row-store.js')
    const { SimulatedRowStorage, SimulatedRowDisk: RowsDisk } = rows
    return { product: { ...product, SimulatedRowStorage, RowsDisk } as unknown as ProductModules, remove }
  } catch (error) {
    remove()
    throw error
  }
}
