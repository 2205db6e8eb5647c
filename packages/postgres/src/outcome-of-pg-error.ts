// Rule: decides from an error of pg whether the database has applied the statement.

import { mayHaveArrived, notReached, refusedByServer } from '@latchkey/lock'
import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'

/**
 * With these SQLSTATEs the database rolled the transaction back, for example after a deadlock. The same
 * statement may succeed later.
 */
const ROLLED_BACK = new Set(['40001', '40P01', '55P03'])
/**
 * With these SQLSTATEs the database has not applied the statement. The server is stopping or starting, lacks
 * connections, disk or memory, or is a replica that accepts no writes.
 */
const AWAY = new Set(['57P01', '57P02', '57P03', '53300', '25006', '53100', '53200'])
const MISSING = new Set(['42P01', '42883', '3F000'])
const TOO_MANY = '53400'

/** With these error codes of Node, pg made no connection, so no statement was sent. */
const NO_CONNECTION = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
])
const CONNECTING = /timeout exceeded when trying to connect|terminated due to connection timeout/
const ENDED_POOL = /after calling end on the pool/

const isState = (code: string): boolean => /^[0-9A-Z]{5}$/.test(code)

export function toLockError(error: unknown, migrate: string): LatchkeyError {
  if (isLatchkeyError(error)) return error
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string }
  if (NO_CONNECTION.has(code) || CONNECTING.test(message)) return notReached(error)
  if (ENDED_POOL.test(message))
    return refusedByServer('The pool was ended before its locks were closed. Close the locks first.', error)
  if (!isState(code)) return mayHaveArrived(error)
  if (AWAY.has(code) || code.startsWith('08')) return notReached(error)
  if (ROLLED_BACK.has(code)) return new LatchkeyError('ERR_TIMEOUT', undefined, { cause: error })
  if (code === TOO_MANY) return new LatchkeyError('ERR_BUSY', undefined, { cause: error })
  if (MISSING.has(code)) return refusedByServer(migrate, error)
  return refusedByServer('PostgreSQL has refused a statement of the locks.', error)
}
