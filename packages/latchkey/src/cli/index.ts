// Driver: runs the command line as a process. Each command loads only the modules that it needs, because a
// short command spends most of its time loading code.

import { main } from './main.js'
import { latchkeyVersion } from '../member/package-version.js'
import { processIo } from './process-io.js'

async function sidecar() {
  const [{ setMemberFlags }, { loadDaemon }] = await Promise.all([
    import('../sidecar/v8-flags.js'),
    import('./load-daemon-package.js'),
  ])
  setMemberFlags()
  return await loadDaemon(() => import('../sidecar/exports-to-run-member.js'))
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
