// Rule: what the file system refused, as something that a caller can act on.

import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'

/**
 * Runs it; an error of the file system itself, or of what stores the rows, becomes ERR_STORAGE_FAILED, which says `what` could not
 * be done and why. Nothing runs yet where this is used, so nothing was applied.
 */
export async function withDisk<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (cause) {
    if (!isFileError(cause) && !isUnknown(cause)) throw cause
    throw new LatchkeyError(
      'ERR_STORAGE_FAILED',
      `${what}: ${cause.message.replace(/\.$/, '')}. Check the path, who may read and write there, and the room on the disk; then try again.`,
      { cause, outcome: 'not-applied' },
    )
  }
}

/** Of a call about a path or an open file; what a socket says has an address. */
const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && !(error instanceof TypeError) && 'syscall' in error && !('address' in error)

const isUnknown = (error: unknown): error is LatchkeyError =>
  isLatchkeyError(error, 'ERR_STORAGE_FAILED') && error.outcome === 'unknown'
