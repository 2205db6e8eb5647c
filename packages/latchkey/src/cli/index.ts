// Driver: runs the command as a process.

import { readFileSync } from 'node:fs'
import { main } from './main.js'
import { keepOldHeapSmall } from '../sidecar/old-heap.js'
import { keepYoungHeapSmall } from '../sidecar/young-heap.js'
import { processIo } from './process-io.js'

const version = () => {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

export async function runProcess(): Promise<void> {
  const io = processIo()
  const code = await main(process.argv.slice(2), io, {
    sidecar: async () => {
      // This process is only a member: an application that embeds one keeps its own heap settings.
      keepYoungHeapSmall()
      keepOldHeapSmall()
      return await import('../sidecar/run.js')
    },
    restore: async () => (await import('../open/index.js')).restore,
    version: version(),
  })
  await io.flush()
  if (io.fault !== undefined) {
    io.err(`latchkey: standard output: ${io.fault.message}\n`)
    process.exit(1)
  }
  // Something that a dependency has left open must not keep a finished command running.
  process.exit(code)
}
