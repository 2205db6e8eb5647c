// Rule: exports the replicated key-value state machine, the format of its log entries, and the stores in
// which a member can keep its rows.
export { sentForm } from './commands/answer-encoding.js'
export {
  BatchReader,
  type CommandRecord,
  fitsRecord,
  RecordSource,
  encodeBatch,
  encodeRecord,
} from './commands/log-entry-records.js'
export { isPlainPut } from './commands/plain-put-parser.js'
export { StateDigest, type RowsDigest } from './state-row-digests.js'
export { SPACE_NAMES, type SpaceName, nameOfRow } from './keyspaces.js'
export { DEFAULT_LIMITS } from './default-limits.js'
export { KvMachine } from './key-value-state-machine.js'
export { restoreRows } from './restore-backup.js'
export { classicLevelStorage } from './storage/classic-level-storage.js'
export { SimulatedRowDisk, SimulatedRowStorage } from './storage/simulated-row-store.js'
export { memoryLevelStorage } from './storage/memory-level-storage.js'
export type {
  Row,
  RowBuilder,
  RowChange,
  RowStorage,
  RowPage,
  RowRange,
  RowStore,
  RowView,
} from './storage/row-store-interface.js'
export type {
  KeyRange,
  KvLimits,
  KvOptions,
  KvStore,
  StateHash,
  StoreFigures,
  Watch,
  WatchSink,
} from './kv-store-types.js'
