// Driver: owns what goes on in the background after a caller was told: a request that is sent again until it is answered.

import { isLatchkeyError } from '@latchkey/protocol'
import type { LockPort } from './lock-port.js'

const FIRST_PAUSE = 50
const LONGEST_PAUSE = 2_000

/** The request may still be answered another time: nobody reached, or nobody knows. */
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

/** Until it is answered, refused for good, the store closes, or `enough` says so. Never rejects. */
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
