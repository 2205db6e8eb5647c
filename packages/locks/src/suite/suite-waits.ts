// Driver: how the suite waits for something that must happen, without a limit that a slow
// machine would exceed.

import { uptime } from 'node:os'
import { systemClock } from '@latchkey/base'

const clock = systemClock(uptime)
const STEP = 20
/**
 * In ms. After this time a test ends with an error that says what did not happen, before the runner's own
 * limit ends it.
 */
const PATIENCE = 30_000

export const now = (): number => clock.now()

export const pause = (ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve))

export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const over = now() + PATIENCE
  while (!(await isSo())) {
    if (now() > over) throw new Error(`after ${PATIENCE} ms it is still not so that ${what}`)
    await pause(STEP)
  }
}
