// Rule: what this package offers: remote stores, and the engine on which every store stands.

export { type ClientWorld, connect, connectIn } from './connect.js'
export { type ClientTls, type ConnectOptions, type ConnectSettings, checkConnect } from './connect-options.js'
export type { Dial, Link, LinkEvents } from './link.js'
export type {
  AdminCall,
  AnswerReply,
  CommandRequest,
  LeaderReply,
  LinkReply,
  LinkRequest,
} from './link.js'
export { Engine, type EngineOptions } from './engine/engine.js'
export type { Route } from './engine/route.js'
export type { OtherMembers } from './engine/third-member.js'
export { ClientStore, DEFAULT_SESSION_LIFE, type StoreOptions, createStore } from './store/create-store.js'
export type { EventCalls, LockCalls, MirrorCalls, Store } from './store/store.js'
export type { Mirror, MirrorEvents, MirrorOptions, MirrorTarget } from './store/mirror.js'
export * from './shared-exports.js'
