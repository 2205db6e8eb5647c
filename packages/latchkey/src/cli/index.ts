// Driver: runs the command line as a process. Each command loads only the modules that it needs, because a
// short command spends most of its time loading code.

import { main } from './main.js'
import { latchkeyVersion } from '../member/version.js'
import { processIo } from './process-io.js'

async function sidecar() {
  const [{ keepOldHeapSmall }, { loadDaemon }] = await Promise.all([
    import('../sidecar/limit-old-heap.js'),
    import('./load-daemon-package.js'),
  ])
  // This process runs only a member, so this setting of the heap harms no other code. An embedded member must
  // not change the heap of its program.
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
  // A dependency may have left a timer or a socket open, which would keep the process alive after the
  // command.
  process.exit(code)
}
