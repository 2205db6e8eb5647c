// Rule: the exports of this package: remote stores, and the engine that every store uses.

export { type ClientEnvironment, connect, connectIn } from './connect.js'
export {
  type ClientReload,
  type ClientTls,
  type ConnectOptions,
  type ConnectSettings,
  checkConnect,
} from './connect-options.js'
export type { RemoteStore } from './remote-store.js'
export { connectToMember, type MemberConnection } from './member-status-connection.js'
export type { Dial, Link, LinkEvents } from './link-interface.js'
export type {
  AdminCall,
  AnswerReply,
  CommandRequest,
  LeaderReply,
  LinkReply,
  LinkRequest,
} from './link-interface.js'
export { Barriers, type EnterOptions, type Passage } from './store/barriers.js'
export { Latches } from './store/latches.js'
export { backupPieces, writeBackup } from './store/backup-file.js'
export type { CallsAppliedOnce, KeptAt } from './store/apply-once.js'
export { pagesOf } from './store/range-iterator.js'
export { OpenTelemetry, requireOpenTelemetry, type Span, type SpanTerms } from './tracing/open-telemetry.js'
export { Tracing } from './tracing/tracing.js'
export type { CallMessage, WaitMessage, WorkMessage } from './tracing/diagnostics-channels.js'
export { Engine, type EngineOptions } from './engine/engine.js'
export type { Route } from './engine/router-interface.js'
export type { OtherMembers } from './engine/embedded-store-link-to-third-member.js'
export { ClientStore, type StoreOptions } from './store/create-store.js'
export type {
  EventCalls,
  LockCalls,
  LockPrimitives,
  LatchAndBarrierCalls,
  MirrorCalls,
  Store,
  SubCalls,
  SubOptions,
  SubStore,
} from './store/store-interface.js'
export type { Mirror, MirrorEvents, MirrorOptions, MirrorTarget } from './store/mirror.js'
export * from './shared-exports.js'
