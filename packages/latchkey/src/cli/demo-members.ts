// Driver: owns the three members of `latchkey demo`, which are processes with a temporary directory. This
// file starts and kills members, and deletes the directory at the end.

import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Io } from './command-io-interface.js'

const NAMES = ['a', 'b', 'c'] as const
const BIN = fileURLToPath(new URL('../../bin/latchkey.js', import.meta.url))

export class Trio {
  readonly dir: string
  readonly urls: Readonly<Record<string, string>>
  readonly #io: Io
  readonly #running = new Map<string, ChildProcess>()

  private constructor(io: Io, dir: string, ports: readonly number[]) {
    this.#io = io
    this.dir = dir
    this.urls = Object.fromEntries(NAMES.map((name, i) => [name, `ws://127.0.0.1:${ports[i]}`]))
  }

  static async start(io: Io): Promise<Trio> {
    const dir = await mkdtemp(join(tmpdir(), 'latchkey-demo-'))
    const trio = new Trio(io, dir, await freePorts(NAMES.length))
    for (const name of NAMES) trio.run(name)
    return trio
  }

  run(name: string): void {
    const members = Object.entries(this.urls).flatMap(([id, url]) => ['--member', `${id}=${url}`])
    const place = ['--id', name, '--dir', join(this.dir, name), '--log-level', 'error', '--cluster', 'demo']
    const child = this.#io.spawn(
      process.execPath,
      [BIN, 'start', ...place, ...members],
      quietEnv(this.#io),
      'quiet',
    )
    child.once('exit', () => this.#running.delete(name))
    this.#running.set(name, child)
  }

  kill(name: string): void {
    this.#running.get(name)?.kill('SIGKILL')
  }

  /** The members need no graceful stop, because their data is deleted. */
  async stop(): Promise<void> {
    const children = [...this.#running.values()]
    const gone = children.map((child) => ended(child))
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(gone)
    await rm(this.dir, { recursive: true, force: true })
  }
}

const ended = (child: ChildProcess) =>
  new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })

/** Leaves out LATCHKEY_* variables, which the user may have set for other members. */
function quietEnv(io: Io): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(io.env).filter(([name]) => !name.startsWith('LATCHKEY_')))
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
