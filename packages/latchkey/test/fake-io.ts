// Driver: the surroundings of a command, in memory, for tests: what the command printed, the signals that it
// gets, and the store to which it connects.

import { spawn } from 'node:child_process'
import { uptime } from 'node:os'
import { systemClock } from '@latchkey/base'
import { type CommandStore, Interrupted, type Io } from '../src/cli/command-io-interface.js'

interface FakeIo extends Io {
  readonly printed: { out: string; err: string }
  /** The arguments of each call of connect. */
  readonly connected: unknown[]
  signal(name: NodeJS.Signals): void
  hangUp(): void
}

export interface FakeWorld {
  readonly env?: Record<string, string>
  readonly files?: Record<string, string>
  readonly stdin?: string
  readonly isTerminal?: boolean
  readonly errIsTerminal?: boolean
  readonly connect?: (endpoints: readonly string[]) => Promise<CommandStore> | CommandStore
}

export function fakeIo({
  env = {},
  files = {},
  stdin = '',
  isTerminal = false,
  errIsTerminal = false,
  connect,
}: FakeWorld = {}): FakeIo {
  const printed = { out: '', err: '' }
  const connected: unknown[] = []
  const interruption = new AbortController()
  const takers = new Set<(signal: NodeJS.Signals) => void>()
  let hangUp = () => {}
  return {
    printed,
    connected,
    env,
    clock: systemClock(uptime),
    isTerminal,
    colours: isTerminal,
    errIsTerminal,
    out: (bytes) => {
      printed.out += typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('utf8')
    },
    err: (text) => {
      printed.err += text
    },
    stdin: async () => Buffer.from(stdin),
    readFile: (path) => {
      const text = files[path]
      if (text === undefined) throw new Error(`no such file: ${path}`)
      return text
    },
    interrupted: interruption.signal,
    processName: 'host7 pid 4711',
    onHangUp: (run) => void (hangUp = run),
    hangUp: () => hangUp(),
    takeSignals(run) {
      takers.add(run)
      return () => takers.delete(run)
    },
    signal(name) {
      for (const run of takers) run(name)
      if (takers.size === 0) interruption.abort(new Interrupted(name))
    },
    async connect(endpoints, options) {
      connected.push({ endpoints, ...options })
      if (connect === undefined) throw new Error('this command was not to connect')
      return connect(endpoints)
    },
    connectToMember: () => Promise.reject(new Error('this command was not to connect')),
    spawn: (command, args, commandEnv) => spawn(command, [...args], { env: commandEnv, stdio: 'ignore' }),
  }
}

const notHere = () => Promise.reject(new Error('not here'))

/** For `main`, in tests of commands that use no part of a member. */
export const NO_PARTS = { version: '0', sidecar: notHere, restore: notHere, recover: notHere }
