// Driver: loaded into a member before its own code (`node --import`): a timer of a millisecond measures how late it is,
// and how much of that time the member's thread waited for a free core. On SIGUSR2 the most since the last signal is
// written into a file.
//
// The difference is the member's own turn. Where more processes than cores want to run, a timer is late though the
// member does nothing long.

import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const { BENCH_TURNS_FOLDER: folder } = process.env
if (folder !== undefined) {
  const waited = waitedForCore()
  let last = { at: performance.now(), waited: waited() }
  let longest = { turn: 0, late: 0 }
  setInterval(() => {
    const now = { at: performance.now(), waited: waited() }
    const late = now.at - last.at
    const turn = late - (now.waited - last.waited)
    longest = { turn: Math.max(longest.turn, turn), late: Math.max(longest.late, late) }
    last = { at: performance.now(), waited: now.waited }
  }, 1).unref()
  process.on('SIGUSR2', () => {
    const file = join(folder, String(process.pid))
    writeFileSync(`${file}.new`, JSON.stringify(longest))
    renameSync(`${file}.new`, file)
    longest = { turn: 0, late: 0 }
  })
}

/** In ms: how long this thread was ready to run and had no core. Only Linux tells it; elsewhere this is 0. */
function waitedForCore(): () => number {
  const file = `/proc/self/task/${process.pid}/schedstat`
  const read = () => Number(readFileSync(file, 'utf8').split(' ')[1]) / 1e6
  try {
    read()
    return read
  } catch {
    return () => 0
  }
}
