// Driver: owns one process of the command `latchkey`, its streams, and its end.

import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const LATCHKEY = fileURLToPath(new URL('../../../packages/latchkey/bin/latchkey.js', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

export class CommandRun {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  out = ''
  err = ''

  constructor(child: ChildProcess) {
    this.child = child
    child.stdout?.on('data', (chunk: Buffer) => (this.out += chunk.toString()))
    child.stderr?.on('data', (chunk: Buffer) => (this.err += chunk.toString()))
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => resolve({ code, signal, out: this.out, err: this.err }))
    })
  }
}

/** `latchkey ...` against these endpoints. */
export function latchkey(
  args: readonly string[],
  endpoints: readonly string[],
  env: Readonly<Record<string, string>> = {},
): CommandRun {
  return nodeProcess([LATCHKEY, ...args], { LATCHKEY_ENDPOINT: endpoints.join(','), ...env })
}

/** A script of Node's, with what it prints. */
export function nodeProcess(args: readonly string[], env: Readonly<Record<string, string>> = {}): CommandRun {
  const child = spawn(process.execPath, [...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  child.stdin?.on('error', () => {})
  return new CommandRun(child)
}
