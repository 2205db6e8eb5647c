// Rule: the exports of @latchkey/redis.

export { locksFromUrl } from './locks-from-url.js'
export { redisQuorumLocks, type RedisQuorumOptions } from './quorum-locks.js'
export { redisLocks, type RedisOptions } from './redis-locks.js'
export type { RedisArg, RedisClient } from './ioredis-interface.js'
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
