// Driver: waits for events in the suite's tests, long enough for a slow machine.

import { uptime } from 'node:os'
import { systemClock } from '@latchkey/base'

const clock = systemClock(uptime)
const STEP = 20
/**
 * In ms. After this time a test fails with an error that names the missing event. The time limit of the test
 * runner would not name the event.
 */
const PATIENCE = 30_000

const now = (): number => clock.now()

export const pause = (ms: number): Promise<void> => new Promise((resolve) => clock.after(ms, resolve))

export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const over = now() + PATIENCE
  while (!(await isSo())) {
    if (now() > over) throw new Error(`after ${PATIENCE} ms it is still not so that ${what}`)
    await pause(STEP)
  }
}
