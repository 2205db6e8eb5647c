// Driver: the part of V8's heap where new objects are made, in a process that is a member and nothing else. By itself it grows to
// two halves of 16 MiB and stays so; what a member makes lives for a moment or for long, so that halves of 4 MiB collect it as
// well, and keep fewer dead buffers waiting outside the heap. V8 takes the size from its command line only, but asks at each
// growth by what factor: it grows once, then no more.

import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Of one half. It begins with one. */
const WANTED_MIB = 4
const WANTED = 2 * WANTED_MIB * 1024 * 1024
/** Enough survivors for the one growth; a V8 that does not grow by them keeps its own ways. */
const MOST_ROUNDS = 200

const sizeNow = () =>
  getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? WANTED

/** Once, at the start. A size that was given, or grown to already, is left alone. */
export function keepYoungHeapSmall(): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ')
  if (given.includes('semi-space') || sizeNow() >= WANTED) return
  setFlagsFromString(`--semi-space-growth-factor=${WANTED_MIB}`)
  const survivors: object[] = []
  for (let round = 0; round < MOST_ROUNDS && sizeNow() < WANTED; round++) {
    for (let i = 0; i < 1_000; i++) survivors.push({ round, i })
  }
  setFlagsFromString(`--semi-space-growth-factor=${sizeNow() < WANTED ? 2 : 1}`)
}
