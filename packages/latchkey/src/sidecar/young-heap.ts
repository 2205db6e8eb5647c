// Driver: the part of V8's heap where new objects are made, in a process that is a member and nothing else. By itself it grows to
// two halves of 16 MiB and stays so while there is work; what a member makes lives for a moment or for long, so that halves of
// 4 MiB collect it as well, and keep fewer dead buffers waiting outside the heap. V8 takes the size from its command line only, but
// asks at each growth by what factor.
//
// Laws
//   - the factor is one, which is no growth, but in `grow`, which runs to its end in one turn: it never gets larger than wanted
//   - V8 shrinks it when there is little to do; once objects are made again, which a small collection tells, it grows back

import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Of a half. */
const WANTED = 4 * 1024 * 1024
/** Enough survivors for a growth; a V8 that does not grow by them keeps its own ways. */
const MOST_ROUNDS = 200
/** Of a collection's entry: objects that were new. */
const SMALL = 1

/**
 * Bytes of the half that is in use; a little of it is V8's own. (The size that V8 tells is that of one half or of both, by whether
 * it has given the other one back.)
 */
export function youngHalf(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return space === undefined ? WANTED : space.space_used_size + space.space_available_size
}

let observer: PerformanceObserver | undefined

/** Once, before the rest of a member is loaded: loading it makes the heap grow. A size that was given is left alone. */
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

/** As far as there is room for a whole factor, and no further. */
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
