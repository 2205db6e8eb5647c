// Driver: sets flags of V8 in a process that runs only a member. An embedded member must not change the V8 of
// its program, so it sets none of these flags. A flag that the user has set stays as it is.

import { setFlagsFromString } from 'node:v8'

/** The major version of V8: 11 in Node 20, 12 in Node 22, 13 in Node 24. */
const VERSION = Number.parseInt(process.versions.v8, 10)

/** Returns whether this version of V8 obeys `--heap-growing-percent`. Other versions ignore the flag. */
export const obeysGrowingPercent = (): boolean => VERSION < 12

/**
 * Limits by how much V8's old heap may grow between two garbage collections: by 50 % of the objects that
 * survived the last collection. Without the limit, the heap can be several times as large as its live
 * objects, and dead objects keep their buffers. A member has few live objects and copies many bytes. With the
 * limit, no load was measurably slower, and a member with a million keys used 30 MiB less.
 */
const SMALL_OLD_HEAP = '--heap-growing-percent=50'

/**
 * Lets V8 compile a function to fast machine code after tens of calls instead of thousands, and keep the
 * compiled code of functions that are seldom called. Without these flags, a member that gets ten calls per
 * second runs slow code for minutes, and V8 drops code while the member is idle. docs/performance.md has the
 * figures. Node 20 counts executed bytes, later versions count calls.
 */
const EARLY_COMPILATION = [
  '--no-flush-bytecode',
  ...(VERSION < 12
    ? ['--interrupt-budget=5000']
    : ['--invocation-count-for-turbofan=200', '--minimum-invocations-after-ic-update=20']),
]

/**
 * The flags by which a user sets the growth of the old heap (GROWTH) or the compilation (COMPILATION). If the
 * process has such a flag, the member sets no flag of that group.
 */
const GROWTH = /heap-growing-percent|old-space-size/
const COMPILATION = /flush-bytecode|interrupt-budget|invocation-count|invocations-after/

export function setMemberFlags(): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ').replaceAll('_', '-')
  if (!GROWTH.test(given)) setFlagsFromString(SMALL_OLD_HEAP)
  if (!COMPILATION.test(given)) for (const flag of EARLY_COMPILATION) setFlagsFromString(flag)
}
