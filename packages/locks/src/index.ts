// Rule: the exports of @latchkey/locks.

export { locks, type LocksOptions } from './open/locks-by-address.js'
export { LockMemory } from './memory/locks-in-memory.js'
export {
  memoryEngine,
  type MemoryLocks,
  memoryLocks,
  type MemoryOptions,
} from './memory/memory-lock-engine.js'
export { engineCallTests } from './suite/engine-call-tests.js'
export { engineHistory, type HistoryOptions, type HistoryReport } from './suite/random-concurrent-calls.js'
export {
  engineSuite,
  type SuiteClient,
  type SuiteFactory,
  type SuiteOptions,
  type SuiteTest,
} from './suite/engine-suite.js'
export {
  type AcquireOptions,
  type Capabilities,
  DistributedLock,
  type EngineCloseOptions,
  type EngineLocks,
  type EngineOptions,
  FenceGuard,
  type FencePort,
  Hold,
  Locks,
  type LockWatchEvent,
  Watchdog,
} from '@latchkey/lock'
export { ERRORS, isLatchkeyError, LatchkeyError } from '@latchkey/protocol'
