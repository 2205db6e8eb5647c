// Driver: runs the command as a process. Modules that only some commands need are loaded by those commands,
// because loading code takes most of the time of a short command.

import { main } from './main.js'
import { latchkeyVersion } from '../member/version.js'
import { processIo } from './process-io.js'

async function sidecar() {
  const [{ keepOldHeapSmall }, { loadDaemon }] = await Promise.all([
    import('../sidecar/old-heap.js'),
    import('./daemon-package.js'),
  ])
  // This process runs only a member. An application that embeds a member keeps its own heap settings.
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
  // Something that a dependency has left open must not keep the process of a finished command running.
  process.exit(code)
}
