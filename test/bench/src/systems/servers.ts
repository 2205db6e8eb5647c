// Driver: owns the server processes of one peer and their temporary folder, and leaves nothing behind.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { pause } from '../pause.js'

/** Where programs stand that no path names. */
const MORE_PLACES = ['/usr/sbin', '/usr/local/bin']

export function findProgram(name: string, places: readonly string[] = []): string | undefined {
  const all = [...(process.env['PATH'] ?? '').split(delimiter), ...MORE_PLACES, ...places]
  return all.map((place) => join(place, name)).find(isRunnable)
}

function isRunnable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** As whom a server runs, where not as ourselves. */
export interface User {
  readonly uid?: number
  readonly gid?: number
}

export interface StartOptions extends User {
  /** Who gets orders by its standard input has a pipe there. */
  readonly stdin?: 'pipe'
}

export class Servers {
  readonly folder: string
  readonly #processes: ChildProcess[] = []
  #output = ''
  readonly #killAll = () => {
    for (const child of this.#processes) child.kill('SIGKILL')
  }

  constructor(folder: string) {
    this.folder = folder
    process.once('exit', this.#killAll)
  }

  static async open(name: string): Promise<Servers> {
    return new Servers(await mkdtemp(join(tmpdir(), `bench-${name}-`)))
  }

  get pids(): number[] {
    return this.#processes.filter(isRunning).map((child) => child.pid as number)
  }

  start(command: string, args: readonly string[], options: StartOptions = {}): ChildProcess {
    const { stdin = 'ignore', ...user } = options
    const child = spawn(command, args, { stdio: [stdin, 'pipe', 'pipe'], cwd: this.folder, ...user })
    const keep = (chunk: Buffer) => {
      this.#output = (this.#output + chunk.toString()).slice(-5_000)
    }
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    child.on('error', (error) => keep(Buffer.from(String(error))))
    this.#processes.push(child)
    return child
  }

  /** Runs a program to its end, such as one that lays out a database. */
  async run(command: string, args: readonly string[], user: User = {}): Promise<void> {
    const child = this.start(command, args, user)
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0) throw new Error(`${command} ended with ${code}:\n${this.#output}`)
  }

  /** Until `probe` resolves. */
  async until(probe: () => Promise<unknown>, timeout = 30_000): Promise<void> {
    const deadline = performance.now() + timeout
    for (;;) {
      const reason = await probe().then(
        () => undefined,
        (error: Error) => error.message,
      )
      if (reason === undefined) return
      if (this.#processes.some((child) => (child.exitCode ?? 0) > 0) || performance.now() > deadline)
        throw new Error(`not ready: ${reason}\n${this.#output}`)
      await pause(50)
    }
  }

  async stop(): Promise<void> {
    const gone = this.#processes.filter(isRunning).map((child) => once(child, 'exit'))
    this.#killAll()
    await Promise.all(gone)
    process.off('exit', this.#killAll)
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

const isRunning = ({ exitCode, signalCode, pid }: ChildProcess): boolean =>
  exitCode === null && signalCode === null && pid !== undefined
