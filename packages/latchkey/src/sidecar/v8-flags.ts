// Driver: sets flags of V8 in a process that runs only a member. An embedded member sets none of these flags,
// because they would also act on its program. A flag that the user has set stays as it is.

import { setFlagsFromString } from 'node:v8'

/** The major version of V8: 11 in Node 20, 12 in Node 22, 13 in Node 24. */
const VERSION = Number.parseInt(process.versions.v8, 10)

/**
 * Between two garbage collections, V8's old heap and the buffers outside of it may grow by 75 % of the objects
 * that survived the last collection. Without the limit, the heap can be several times as large as its live
 * objects, and dead objects keep their buffers. A smaller limit would save 5 to 10 MiB with a million keys, but V8
 * would collect more often. Each collection takes 20 to 40 ms of processor time, most of it in other threads, and
 * large values cause one for every few puts.
 */
const SMALL_OLD_HEAP = '--heap-growing-percent=75'

/**
 * The main thread collects young objects alone. By default, up to four more threads take part, on any number of
 * cores. The heap of young objects is small, so each collection takes only one or two milliseconds, and the
 * threads take more processor time than they save. On two cores, a put took 15 % less processor time with this
 * flag. V8 reads the flag before each collection. Other flags about the threads of the collector may not be
 * set in a running process: V8 may then stop the process.
 */
const YOUNG_OBJECTS_IN_MAIN_THREAD = '--no-parallel-scavenge'

/**
 * V8 allocates no object directly in its old heap. By default, V8 does so for the objects of a place in the code
 * if nearly all of these objects have survived a few collections. A member's holds, answers and events live for
 * some milliseconds, which is longer than one collection of a small young heap and much shorter than the old
 * heap keeps them. So V8 filled the old heap with them, and also kept all young objects that they refer to. V8
 * reads the flag at each collection.
 */
const NEW_OBJECTS_IN_YOUNG_HEAP = '--no-allocation-site-pretenuring'

/**
 * With these flags, V8 compiles a function to simple machine code at its first call, and to fast machine code
 * after fewer calls than by default. V8 also keeps the code of functions that are seldom called. Without the
 * flags, a member with ten calls per second runs slow code for minutes. If V8 compiled to fast machine code
 * much earlier, it would compile so many functions in the first seconds that calls would wait for a core.
 * docs/performance.md has the figures. The limit in Node 20 is a number of executed bytes. The limit in later
 * versions is a number of calls.
 */
const EARLY_COMPILATION = [
  '--no-flush-bytecode',
  '--always-sparkplug',
  ...(VERSION < 12
    ? ['--interrupt-budget=50000']
    : ['--invocation-count-for-turbofan=1000', '--minimum-invocations-after-ic-update=100']),
]

/**
 * The flags by which a user sets the growth of the old heap (GROWTH), the threads that collect young objects
 * (THREADS), the place of new objects (PLACE), or the compilation (COMPILATION). The member sets no flag of a group in which the user has set
 * one.
 */
const GROWTH = /heap-growing-percent|old-space-size/
const THREADS = /--(no-?)?parallel-scavenge|single-threaded/
const PLACE = /allocation-site-pretenuring/
const COMPILATION = /flush-bytecode|sparkplug|interrupt-budget|invocation-count|invocations-after/

export function setMemberFlags(): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ').replaceAll('_', '-')
  if (!GROWTH.test(given)) setFlagsFromString(SMALL_OLD_HEAP)
  if (!THREADS.test(given)) setFlagsFromString(YOUNG_OBJECTS_IN_MAIN_THREAD)
  if (!PLACE.test(given)) setFlagsFromString(NEW_OBJECTS_IN_YOUNG_HEAP)
  if (!COMPILATION.test(given)) for (const flag of EARLY_COMPILATION) setFlagsFromString(flag)
}
