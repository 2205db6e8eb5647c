// Rule: the exports of @latchkey/etcd.

export { locksFromUrl } from './locks-from-url.js'
export { type EtcdLocks, etcdLocks, type EtcdOptions } from './etcd-locks.js'
export type { EtcdClient, EtcdOperation, TxnAnswer } from './etcd-types.js'
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
