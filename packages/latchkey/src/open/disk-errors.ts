// Rule: converts errors of the file system to errors that tell the user what to do.

import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'

/**
 * Runs the function. If the file system fails, the function throws ERR_STORAGE_FAILED with `what` and the
 * reason in its message. Use this function only before the member runs, because its error says that nothing
 * was applied.
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

/**
 * Returns whether the error comes from the file system. Only an error of a socket has the field `address`.
 */
const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && !(error instanceof TypeError) && 'syscall' in error && !('address' in error)

const isUnknown = (error: unknown): error is LatchkeyError =>
  isLatchkeyError(error, 'ERR_STORAGE_FAILED') && error.outcome === 'unknown'
