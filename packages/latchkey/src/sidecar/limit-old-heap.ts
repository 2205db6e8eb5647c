// Driver: limits by how much V8's old heap may grow between two garbage collections, in a process that runs
// only a member. Without the limit, the heap can be several times as large as its live objects, and dead
// objects keep their buffers. A member has few live objects and copies many bytes. With a growth of at most
// 50 %, no load was measurably slower, and a member with a million keys used 30 MiB less. Only Node 20 obeys
// this flag. Node 22 and 24 ignore it.

import { setFlagsFromString } from 'node:v8'

/** In percent of the objects that survived the last garbage collection. */
const GROWTH_PERCENT = 50

/** Returns whether this version of V8 obeys the flag. */
export const obeysFlag = (): boolean => Number.parseInt(process.versions.v8, 10) < 12

/** Sets the limit, if the user has set no flag about the growth or the size of the heap. */
export function keepOldHeapSmall(): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  if (/heap-growing-percent|old-space-size/.test(given)) return
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
