// Rule: converts errors of the file system to errors that tell the user what to do.

import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'

/**
 * Converts an error of the file system to ERR_STORAGE_FAILED. The error says that nothing was applied, so use
 * this function only before the member runs.
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

/** An error with the field `address` comes from a socket, not from a file. */
const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && !(error instanceof TypeError) && 'syscall' in error && !('address' in error)

const isUnknown = (error: unknown): error is LatchkeyError =>
  isLatchkeyError(error, 'ERR_STORAGE_FAILED') && error.outcome === 'unknown'
