// Driver: owns the streams and signals of the process. No other file of the command line uses the streams and
// the signals directly.

import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { hostname, uptime } from 'node:os'
import { systemClock, type Timer } from '@latchkey/base'
import { Interrupted, type Io } from './command-io-interface.js'

const ENDING = ['SIGINT', 'SIGTERM'] as const
/** In ms. The process exits this long after an interruption, even if the command has not ended. */
const PATIENCE_MS = 10_000

interface ProcessIo extends Io {
  /**
   * The error of standard output. Undefined without an error, or if the reader of a pipe has closed the pipe
   * (EPIPE).
   */
  readonly fault: Error | undefined
  /** Resolves when all printed output is written. */
  flush(): Promise<void>
}

export function processIo(): ProcessIo {
  const clock = systemClock(uptime)
  const interruption = new AbortController()
  let taken = 0
  let late: Timer | undefined
  for (const name of ENDING) {
    process.on(name, () => {
      if (taken > 0 || interruption.signal.aborted) return
      interruption.abort(new Interrupted(name))
      late = clock.after(PATIENCE_MS, () => process.exit(name === 'SIGINT' ? 130 : 143), { ref: false })
    })
  }
  let fault: Error | undefined
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A command that handles signals, such as `latchkey start`, continues if no program reads its output any
    // more. So a member does not stop when the program that reads its log ends.
    if (taken > 0 || interruption.signal.aborted) return
    if (error.code !== 'EPIPE') fault = error
    // The process does not exit immediately, because the command may have to release a hold first.
    interruption.abort(new Interrupted('SIGPIPE'))
    late = clock.after(PATIENCE_MS, () => process.exit(fault === undefined ? 0 : 1), { ref: false })
  })
  process.stderr.on('error', () => {})
  return {
    get fault() {
      return fault
    },
    env: process.env,
    processName: `${hostname()} pid ${process.pid}`,
    clock,
    isTerminal: process.stdout.isTTY === true,
    colours: process.stdout.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb',
    errIsTerminal: process.stderr.isTTY === true,
    out: (bytes) => void process.stdout.write(bytes),
    err: (text) => void process.stderr.write(text),
    stdin: readAll,
    readFile: (path) => readFileSync(path, 'utf8'),
    interrupted: interruption.signal,
    onHangUp: (run) => void process.on('SIGHUP', run),
    takeSignals(run, signals) {
      taken++
      // A command that handles signals decides itself when to end, so the forced exit is cancelled.
      late?.cancel()
      for (const name of signals) process.on(name, run)
      return () => {
        taken--
        for (const name of signals) process.off(name, run)
      }
    },
    connect: async (endpoints, options) => (await client()).connect([...endpoints], options),
    connectToMember: async (url, options) => (await client()).connectToMember(url, options),
    spawn: (command, args, env, streams) => start(command, args, env, streams),
    flush: () =>
      new Promise((resolve) => process.stdout.write('', () => process.stderr.write('', () => resolve()))),
  }
}

/** Loaded on demand, so that commands without a connection start faster. */
const client = () => import('@latchkey/client')

function start(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  streams?: 'quiet',
): ChildProcess {
  const stdio = streams === 'quiet' ? (['ignore', 'ignore', 'inherit'] as const) : 'inherit'
  return spawn(command, [...args], { env, stdio: stdio === 'inherit' ? stdio : [...stdio] })
}

async function readAll(): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}
