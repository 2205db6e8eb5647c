// Rule: the exports of @latchkey/postgres.

export { locksFromUrl } from './locks-from-url.js'
export type { PgClient, PgPool } from './pg-types.js'
export { type PostgresLocks, postgresLocks, type PostgresOptions } from './postgres-locks.js'
export {
  type AcquireOptions,
  type Capabilities,
  DistributedLock,
  type EngineCloseOptions,
  type EngineLocks,
  type EngineOptions,
  Hold,
  Locks,
  Watchdog,
} from '@latchkey/lock'
export { ERRORS, isLatchkeyError, LatchkeyError } from '@latchkey/protocol'
