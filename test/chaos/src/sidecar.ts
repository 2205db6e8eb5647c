// Driver: owns one real `latchkey start` process and its directory.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { LATCHKEY } from './command.js'
import { ask } from './ask.js'

/** In ms: a member that is paused is asked again, because the others may answer meanwhile. */
const SOON = 1_000

export interface SidecarOptions {
  readonly id: string
  readonly dir: string
  readonly port: number
  /** All members as `--member` wants them. */
  readonly members: Readonly<Record<string, string>>
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Whom to trust when it is asked over TLS; with it, its addresses are those of TLS. */
  readonly ca?: string
  /** What to show when it is asked. */
  readonly token?: string
}

export interface StartOptions {
  readonly flags?: readonly string[]
  /** A shell's words that come first, such as 'ulimit -f 6000'. */
  readonly shell?: string
}

export interface Status {
  readonly id: string
  readonly role: string
  readonly leader?: string
  readonly term: number
  readonly commit: number
  readonly applied: number
  readonly members: readonly { readonly id: string; readonly role: string; readonly lag?: number }[]
}

export class Sidecar {
  readonly options: SidecarOptions
  #process: ChildProcess | undefined
  #output = ''

  constructor(options: SidecarOptions) {
    this.options = options
  }

  get id(): string {
    return this.options.id
  }

  get url(): string {
    return `${this.options.ca ? 'wss' : 'ws'}://127.0.0.1:${this.options.port}`
  }

  get http(): string {
    return `${this.options.ca ? 'https' : 'http'}://127.0.0.1:${this.options.port}`
  }

  get running(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null
  }

  get pid(): number | undefined {
    return this.#process?.pid
  }

  /** The end of what it printed, for a failing test's message. */
  get output(): string {
    return this.#output
  }

  start({ flags: extra = [], shell }: StartOptions = {}): void {
    const { id, dir, port, members, flags = [], env = {} } = this.options
    const list = Object.entries(members).flatMap(([name, url]) => ['--member', `${name}=${url}`])
    const own = ['--id', id, '--dir', dir, '--listen', `127.0.0.1:${port}`]
    const command = [process.execPath, LATCHKEY, 'start', ...own, ...list, ...flags, ...extra]
    const [file, ...args] =
      shell === undefined ? command : ['bash', '-c', `${shell}; exec "$@"`, 'bash', ...command]
    const child = spawn(file as string, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    const keep = (chunk: Buffer) => {
      this.#output = (this.#output + chunk.toString()).slice(-20_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    this.#process = child
  }

  signal(signal: NodeJS.Signals): void {
    if (this.running) this.#process?.kill(signal)
  }

  /** Resolves with the exit code, or the signal's name. */
  async exited(): Promise<number | string> {
    const child = this.#process
    if (child === undefined) return 0
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    return child.exitCode ?? (child.signalCode as string)
  }

  async kill(): Promise<void> {
    this.signal('SIGCONT')
    this.signal('SIGKILL')
    await this.exited()
  }

  /** Gracefully; resolves with the exit code. */
  async stop(): Promise<number | string> {
    this.signal('SIGTERM')
    return this.exited()
  }

  /** undefined while it cannot be asked. */
  async status(): Promise<Status | undefined> {
    const answer = await ask(`${this.http}/status`, { ...this.options, timeout: SOON })
    return answer?.status === 200 ? (JSON.parse(answer.body) as Status) : undefined
  }

  async ready(timeout = 60_000): Promise<void> {
    const deadline = performance.now() + timeout
    for (;;) {
      if (await this.#isReady()) return
      if (!this.running) throw new Error(`${this.id} ended (${await this.exited()}):\n${this.#output}`)
      if (performance.now() > deadline)
        throw new Error(`${this.id} is not ready after ${timeout} ms:\n${this.#output}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  async #isReady(): Promise<boolean> {
    return (await ask(`${this.http}/readyz`, { ...this.options, timeout: SOON }))?.status === 200
  }
}
