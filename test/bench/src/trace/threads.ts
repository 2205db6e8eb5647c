// Door: what the system knows of the threads of a process, from /proc: how often each slept, its time on a core, and
// how long it was ready and waited for a core.

import { readdirSync, readFileSync } from 'node:fs'

export interface Threads {
  /** How often the main thread gave up its core because it had nothing to do: each time it has to be woken. */
  readonly mainSleeps: number
  /** The same of all other threads together: those that write to the disk, and those of V8. */
  readonly otherSleeps: number
  /** All threads together, in µs. */
  readonly onCore: number
  /** How long the main thread was ready to run and had no core, in µs. */
  readonly mainWaited: number
}

export function threadsOf(pid: number): Threads {
  let [mainSleeps, otherSleeps, onCore, mainWaited] = [0, 0, 0, 0]
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const status = read(`/proc/${pid}/task/${thread}/status`)
    const [ran = 0, waited = 0] = read(`/proc/${pid}/task/${thread}/schedstat`).split(' ').map(Number)
    const sleeps = Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0)
    onCore += ran / 1000
    if (Number(thread) !== pid) otherSleeps += sleeps
    else [mainSleeps, mainWaited] = [sleeps, waited / 1000]
  }
  return { mainSleeps, otherSleeps, onCore, mainWaited }
}

/** A thread may end while it is looked at. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

export const spent = (before: Threads, after: Threads): Threads => ({
  mainSleeps: after.mainSleeps - before.mainSleeps,
  otherSleeps: after.otherSleeps - before.otherSleeps,
  onCore: after.onCore - before.onCore,
  mainWaited: after.mainWaited - before.mainWaited,
})
