// Driver: limits how far V8's old generation may grow between two collections, in a process that runs only a
// member. Without the limit the heap may be several times as large as its live objects, and dead objects keep
// their buffers outside of the heap. A member keeps few objects and copies much: with a limit of one and a
// half times no cost was measured, and a member of a million keys is 30 MiB smaller. Node 20 uses this flag.
// Node 22 and 24 accept it without effect.

import { setFlagsFromString } from 'node:v8'

/** In percent of what is alive after a collection. */
const GROWTH_PERCENT = 50

/** Whether this version of V8 uses the flag. */
export const isHeeded = (): boolean => Number.parseInt(process.versions.v8, 10) < 12

/** Does nothing if the user has set a growth or a size of the heap. */
export function keepOldHeapSmall(): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  if (/heap-growing-percent|old-space-size/.test(given)) return
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
