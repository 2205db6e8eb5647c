// Rule: what this package offers: the replicated key-value state machine, its entry format, and where it keeps its rows.
export {
  BatchReader,
  type CommandRecord,
  RECORD_HEADER,
  countRecords,
  encodeBatch,
  encodeRecord,
  recordBytes,
} from './commands/batch.js'
export { type Refusal, isCommand, isKnownOp, refuseCommand } from './commands/validate.js'
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
