// Rule: what everybody installs: open() to embed, connect() to talk to a sidecar, and the words of both.
export { type Store, connect } from '@latchkey/client'
export * from '@latchkey/lock'
export {
  ERRORS,
  type ErrorCode,
  FIRST_TIME_SUCCESS,
  KEEP_LEASE_FAIL,
  KEEP_LEASE_SUCCESS,
  LatchkeyError,
  NEW_ACQUIRE_SUCCESS,
  REENTRANT_SUCCESS,
} from '@latchkey/protocol'
export type * from '@latchkey/protocol'
export { type AuthOptions, type Right } from './member/rights.js'
export { type OpenOptions, type RestoreOptions, type TlsOptions, open, restore } from './open/index.js'
