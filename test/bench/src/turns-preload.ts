// Driver: loaded into a member before its own code (`node --import`): a timer of a millisecond measures how late it is.
// On SIGUSR2 the most since the last signal is written into a file.

import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'

const { BENCH_TURNS_FOLDER: folder } = process.env
if (folder !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  process.on('SIGUSR2', () => {
    const file = join(folder, String(process.pid))
    writeFileSync(`${file}.new`, String(delay.max / 1e6))
    renameSync(`${file}.new`, file)
    delay.reset()
  })
}
