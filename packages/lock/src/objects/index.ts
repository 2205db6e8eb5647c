// Rule: the lock objects, over a request port.
export { ClusterBound, DEFAULT_DRIFT } from './bound.js'
export type { LockCall, LockCallOptions, LockPort } from './port.js'
