// Rule: the exports of the package: open() to run a member in this process, connect() to use running members,
// and their types.
export {
  type ClientTls,
  type ConnectOptions,
  DistributedLock,
  ERRORS,
  Elections,
  FIRST_TIME_SUCCESS,
  FenceGuard,
  Hold,
  HoldSet,
  KEEP_LEASE_FAIL,
  KEEP_LEASE_SUCCESS,
  LatchkeyError,
  Leadership,
  Locks,
  NEW_ACQUIRE_SUCCESS,
  Permit,
  REENTRANT_SUCCESS,
  Semaphores,
  Watchdog,
  connect,
  isLatchkeyError,
} from '@latchkey/client'
export type * from '@latchkey/client'
export { type AuthOptions, type Right, type TokenEntry } from './member/identity-and-rights.js'
export {
  type EmbeddedStore,
  type OpenOptions,
  type ReloadOptions,
  type RestoreOptions,
  type TlsOptions,
  open,
  restore,
} from './open/index.js'
