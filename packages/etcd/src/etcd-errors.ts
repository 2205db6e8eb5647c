// Rule: whether a call that failed with an error of etcd3 may have been applied.

import { mayHaveArrived, refusedByServer } from '@latchkey/lock'
import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'

const CLOSED = /client was already closed/
/**
 * Answers after which the same call would fail again. Names are compared, because two copies of the driver
 * have two classes.
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

/** The lease does not exist, or does not exist any more. */
export const isNoLease = (error: unknown): boolean => NO_LEASE.test(messageOf(error))

/** etcd3 has sent the call a second time by itself, and the second one was answered. */
export const isSameLease = (error: unknown): boolean => SAME_LEASE.test(messageOf(error))

/**
 * etcd3 sends a call that has failed again, to another server. Its last error may then be "refused" although
 * the first attempt was applied. So no error of a call proves that it was not applied.
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
