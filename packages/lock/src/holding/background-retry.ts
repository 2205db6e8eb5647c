// Driver: repeats requests in the background until they are answered. The callers of these requests already
// have their results.

import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'
import type { LockPort } from './lock-port-interface.js'

const FIRST_PAUSE = 50
const LONGEST_PAUSE = 2_000

/**
 * True if the error is retryable or its outcome is unknown. False for ERR_CLOSED, because a closed store
 * sends no requests.
 */
export function isWorthRetry(error: unknown): boolean {
  return (
    isLatchkeyError(error) && (error.retryable || error.outcome === 'unknown') && error.code !== 'ERR_CLOSED'
  )
}

export function mayBeApplied(error: unknown): boolean {
  return !isLatchkeyError(error) || error.outcome === 'unknown'
}

export function pause(port: LockPort, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = port.clock.after(ms, done, { ref: false })
    port.closed.addEventListener('abort', done, { once: true })
    function done(): void {
      timer.cancel()
      port.closed.removeEventListener('abort', done)
      resolve()
    }
  })
}

/**
 * Repeats the request until a member answers or permanently refuses the request, until the store closes, or
 * until `enough` returns true. The promise never rejects.
 */
export async function untilAnswered(
  port: LockPort,
  request: () => Promise<unknown>,
  enough: () => boolean,
): Promise<void> {
  for (let wait = FIRST_PAUSE; !port.closed.aborted; wait = Math.min(wait * 2, LONGEST_PAUSE)) {
    try {
      await request()
      return
    } catch (error) {
      if (!isWorthRetry(error) || enough()) return
    }
    await pause(port, wait)
  }
}

/**
 * Makes the error of an unlock not retryable if the release continues in the background. The hold is over for
 * this process, so the caller must not call unlock again.
 */
export function unlockGoesOnError(error: unknown): unknown {
  const goesOn = isWorthRetry(error) || isLatchkeyError(error, 'ERR_ABORTED')
  if (!goesOn || !isLatchkeyError(error)) return error
  const { code, outcome, cause } = error
  return new LatchkeyError(code, RELEASE_GOES_ON, { outcome, retryable: false, cause })
}

export const RELEASE_GOES_ON =
  'The unlock ended before it was answered. The lock is not held here any more, and its release goes on in the background until the lease is over: there is nothing to ask again.'
