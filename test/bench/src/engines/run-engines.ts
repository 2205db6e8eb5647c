// Driver: starts the servers of the lock engines, and the bench of the engines on them.

import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Options } from '../options.js'

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const MAIN = fileURLToPath(new URL('./main.js', import.meta.url))
const SERVERS = ['postgres', 'redis', 'etcd']

/** Resolves the exit code. */
export function runEngines({ seconds, markdown }: Options): Promise<number> {
  const page = markdown === undefined ? [] : ['--markdown', resolve(markdown)]
  const words = [...SERVERS, '--', process.execPath, MAIN, '--seconds', String(seconds), ...page]
  const child = spawn('scripts/servers.sh', words, { cwd: ROOT, stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal))
  return new Promise((done, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => done(code ?? 1))
  })
}
