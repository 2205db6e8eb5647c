// Driver: loaded into a member before its own code (`node --import`): traces the process, and writes the notes into a
// file when it ends.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { trace } from './hooks.js'

const { BENCH_TRACE_FOLDER: folder } = process.env
if (folder !== undefined) {
  const { notes } = trace()
  process.once('exit', () => {
    writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify(notes))
  })
}
