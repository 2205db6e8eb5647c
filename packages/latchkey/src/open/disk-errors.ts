// Rule: turns errors of the file system into errors that say what a caller can do.

import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'

/**
 * Runs the function. An error of the file system or of the storage becomes ERR_STORAGE_FAILED, whose message
 * says what could not be done (`what`) and why. This function is used only before the member runs, so nothing
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
 * Whether the error comes from a call about a path or an open file. An error of a socket has an address
 * instead.
 */
const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && !(error instanceof TypeError) && 'syscall' in error && !('address' in error)

const isUnknown = (error: unknown): error is LatchkeyError =>
  isLatchkeyError(error, 'ERR_STORAGE_FAILED') && error.outcome === 'unknown'
