// Driver: how far V8's old heap may grow between two collections of it, in a process that is a member and nothing else. By itself it
// may come to several times what is alive, with all the dead buffers outside the heap that its dead objects name. A member keeps
// little alive and copies much: half as much again costs no more that could be measured, and a member of a million keys is 30 MiB smaller.
// Node 20 heeds this flag; Node 22 and 24 take it and ignore it, so that a member there is as large as V8 makes it.

import { setFlagsFromString } from 'node:v8'

/** Of what is alive after a collection. */
const GROWTH_PERCENT = 50

/** Whether this V8 heeds the flag. */
export const isHeeded = (): boolean => Number.parseInt(process.versions.v8, 10) < 12

/** A growth or a size that was given is left alone. */
export function keepOldHeapSmall(): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  if (/heap-growing-percent|old-space-size/.test(given)) return
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
