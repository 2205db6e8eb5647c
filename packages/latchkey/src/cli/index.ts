// Driver: runs the command line as a process. A command loads the large modules that only this command needs,
// because a short command spends most of its time in loading code.

import { main } from './main.js'
import { latchkeyVersion } from '../member/version.js'
import { processIo } from './process-io.js'

async function sidecar() {
  const [{ keepOldHeapSmall }, { loadDaemon }] = await Promise.all([
    import('../sidecar/limit-old-heap.js'),
    import('./load-daemon-package.js'),
  ])
  // This process runs only a member, so its heap settings may be changed. A program with an embedded member
  // keeps its own.
  keepOldHeapSmall()
  return await loadDaemon(() => import('../sidecar/run-exports.js'))
}

export async function runProcess(): Promise<void> {
  const io = processIo()
  const code = await main(process.argv.slice(2), io, {
    sidecar,
    restore: async () => (await import('../open/index.js')).restore,
    recover: async () => (await import('../open/index.js')).recover,
    version: latchkeyVersion(),
  })
  await io.flush()
  if (io.fault !== undefined) {
    io.err(`latchkey: standard output: ${io.fault.message}\n`)
    process.exit(1)
  }
  // A dependency may leave a timer or a socket open. Without this exit, a finished command would then not
  // end.
  process.exit(code)
}
