// Rule: what this package offers: the replicated key-value state machine, its entry format, and where it keeps its rows.
export { toldAs } from './commands/answers.js'
export {
  BatchReader,
  type CommandRecord,
  RECORD_HEADER,
  fitsRecord,
  RecordSource,
  countRecords,
  encodeBatch,
  encodeRecord,
  recordBytes,
} from './commands/batch.js'
export { isPlainPut } from './commands/plain-put.js'
export { FrozenState, type RowsDigest } from './frozen.js'
export { SPACE_NAMES, type SpaceName, nameOfRow } from './keyspaces.js'
export { DEFAULT_LIMITS } from './limits.js'
export { KvMachine } from './machine.js'
export { type Restored, restoreRows, surveyBackup } from './restore.js'
export { classicHome } from './rows/classic.js'
export { type DiskFault, MemoryDisk, MemoryHome } from './rows/memory.js'
export { memoryLevelHome } from './rows/memory-level.js'
export type {
  Row,
  RowBuilder,
  RowChange,
  RowHome,
  RowPage,
  RowRange,
  RowStore,
  RowView,
} from './rows/port.js'
export type { KeyRange, KvLimits, KvOptions, KvStore, StateHash, Watch, WatchSink } from './store.js'
