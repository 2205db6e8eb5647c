// Rule: decides from an error of etcd3 whether etcd may have applied the call.

import { mayHaveArrived, refusedByServer } from '@latchkey/lock'
import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'

const CLOSED = /client was already closed/
/**
 * With these errors the same call would fail again. The errors are compared by name, because two copies of
 * the package etcd3 have two different classes.
 */
const REFUSALS = new Set([
  'EtcdPermissionDeniedError',
  'EtcdAuthenticationFailedError',
  'GRPCUnauthenticatedError',
  'GRPCInvalidArgumentError',
  'GRPCNotImplementedError',
])
const NO_SPACE = /database space exceeded/
const NO_LEASE = /requested lease not found|Lease .* is expired or revoked/
const SAME_LEASE = /lease already exists/

const messageOf = (error: unknown): string => String((error as Error | undefined)?.message)

export const isNoLease = (error: unknown): boolean => NO_LEASE.test(messageOf(error))

/**
 * True if etcd refuses to grant a lease because the lease already exists. The lease was then granted: etcd3
 * has repeated the request on its own, and etcd has answered the repeated request.
 */
export const isSameLease = (error: unknown): boolean => SAME_LEASE.test(messageOf(error))

/**
 * etcd3 repeats a failed call at another server, and reports the error of the last attempt. Even if the last
 * connection was refused, the first attempt may have been applied. So an error of the network never proves
 * that the call was not applied.
 */
export function toLockError(error: unknown): LatchkeyError {
  if (isLatchkeyError(error)) return error
  const name = String((error as Error | undefined)?.constructor?.name)
  const message = messageOf(error)
  if (CLOSED.test(message))
    return refusedByServer(
      'The etcd client was closed before its locks were closed. Close the locks first.',
      error,
    )
  if (NO_SPACE.test(message))
    return refusedByServer(
      'etcd has no space left (its quota is used up). Compact and defragment it, then disarm the alarm.',
      error,
    )
  if (REFUSALS.has(name))
    return refusedByServer(
      'etcd has refused a call of the locks. Check the name, the password and the rights of the user.',
      error,
    )
  if (name === 'GRPCResourceExhastedError') return new LatchkeyError('ERR_BUSY', undefined, { cause: error })
  return mayHaveArrived(error)
}
