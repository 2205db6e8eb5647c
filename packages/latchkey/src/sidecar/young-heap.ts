// Driver: the size of V8's young heap, in which new objects are made, in a process that runs a member and
// nothing else. By itself this heap grows to two halves of 16 MiB and stays so while there is work. The
// objects of a member live for a moment or for long, so halves of 4 MiB are as good, and keep fewer dead
// buffers alive outside the heap. V8 reads the size only from its command line, but reads the growth factor
// at each growth.
//
// Laws:
//   - the factor is one, which means no growth, except in `grow`, which runs to its end in one turn: so the
//     heap never becomes larger than wanted;
//   - V8 shrinks the heap when there is little to do. When objects are made again, which a small collection
//     shows, `grow` enlarges it again.

import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** The size of one half. */
const WANTED = 4 * 1024 * 1024
/** Enough surviving objects for one growth. If V8 does not grow by them, this file does nothing. */
const MOST_ROUNDS = 200
/** The kind of a collection of young objects, in its performance entry. */
const SMALL = 1

/**
 * Bytes of the half in use; V8 uses a little of it for itself. (V8 reports the size of one half, or of both,
 * depending on whether it has released the other half.)
 */
export function youngHalf(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return space === undefined ? WANTED : space.space_used_size + space.space_available_size
}

let observer: PerformanceObserver | undefined

/**
 * Called once, before the rest of a member is loaded, because loading makes the heap grow. Does nothing if
 * the user has set a size.
 */
export function keepYoungHeapSmall(): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  if (given.includes('semi-space') || observer !== undefined) return
  grow()
  observer = new PerformanceObserver((list) => {
    if (list.getEntries().some(isSmall)) grow()
  })
  observer.observe({ entryTypes: ['gc'] })
}

const isSmall = (entry: object): boolean =>
  'detail' in entry && (entry.detail as { kind?: number } | null)?.kind === SMALL

/** Grows only while there is room for a whole factor. */
function grow(): void {
  const before = youngHalf()
  const factor = Math.floor(WANTED / before)
  if (factor > 1) {
    setFlagsFromString(`--semi-space-growth-factor=${factor}`)
    const survivors: object[] = []
    for (let round = 0; round < MOST_ROUNDS && youngHalf() === before; round++) {
      for (let i = 0; i < 1_000; i++) survivors.push({ round, i })
    }
  }
  setFlagsFromString('--semi-space-growth-factor=1')
}
