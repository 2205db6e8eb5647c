// Rule: exports the port of lock engines, and the lock objects over it.

export {
  type EngineCloseOptions,
  ENGINE_OPTIONS,
  engineLocks,
  type EngineLocks,
  type EngineOptions,
} from './engine-lock-client.js'
export { guardedKey, serverPrefixArg, withDriver } from './engine-arguments.js'
export { mayHaveArrived, notReached, refusedByServer } from './make-unreachable-error.js'
export type {
  Capabilities,
  EngineHold,
  LockEngine,
  ReleaseAnswer,
  RenewRequest,
  TakeAnswer,
  TakeRequest,
  Timed,
} from './lock-engine-interface.js'
export { ClientClock } from './clock-without-server-time.js'
