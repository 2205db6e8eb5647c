// Driver: owns a hold and runs the user's command CMD while the hold is in force, for `latchkey lock`,
// `latchkey semaphore` and `latchkey elect`.
//
// Laws:
// - CMD runs only while the hold is certainly in force. Otherwise CMD gets SIGTERM and later SIGKILL, and the
//   exit code is 75.
// - In all other cases the exit code is the exit code of CMD. This process always releases the hold before it
//   ends.

import type { ChildProcess } from 'node:child_process'
import { CAPS, isLatchkeyError } from '@latchkey/protocol'
import {
  duration,
  keyWord,
  type Line,
  type OptionTable,
  text,
  UsageError,
} from './command-description-and-parser.js'
import { EXIT, explain, signalExit } from './exit-codes.js'
import type { CommandStore, Hold, Io } from './command-io-interface.js'
import { hasLeader } from './store-connection-of-command.js'

export const RUN_OPTIONS: OptionTable = {
  lease: {
    type: 'string',
    value: 'DURATION',
    help: 'how long the hold stays if this process dies, 10s by default',
  },
  wait: {
    type: 'string',
    value: 'DURATION',
    help: 'stop waiting after this time; 0 makes one attempt; by default, the wait has no limit',
  },
  'kill-after': {
    type: 'string',
    value: 'DURATION',
    help: 'after a loss, the time between SIGTERM and SIGKILL, 10s by default',
  },
}
export const RUN_NOTES =
  'While CMD runs, this process renews the hold and passes signals on to CMD. If the hold is lost, CMD gets SIGTERM, and later\nSIGKILL.\nexit codes: the code of CMD (128 + n after signal n); 75 not free, or lost; 69 no leader; 126, 127 CMD cannot run.'

/** `name` is the name of the lock, and `what` is the kind for messages, such as 'the lock'. */
interface Held {
  readonly hold: Hold
  readonly name: string
  readonly what: string
}

export interface Run extends Times {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly killAfter: number
}

interface Times {
  readonly lease: number
  /** In ms. 0 means one attempt without a wait. Undefined means a wait without a limit. */
  readonly wait: number | undefined
}

function timesOf(line: Line): Times {
  const lease = duration(line, 'lease') ?? 10_000
  if (lease < CAPS.minLease || lease > CAPS.maxLease)
    throw new UsageError(
      `--lease must be from 50 ms to 30 days; got ${JSON.stringify(text(line, 'lease'))}, which is ${lease} ms`,
    )
  return { lease, wait: text(line, 'wait') === '0' ? 0 : duration(line, 'wait') }
}

/** Parses `latchkey COMMAND NAME -- CMD ARGS`. `word` is the placeholder for NAME in the help. */
export function runOf(line: Line, command: string, word: string): Run {
  const [name, ...more] = line.words
  const [program, ...args] = line.rest ?? []
  if (name === undefined || more.length > 0) throw new UsageError(`${command} takes one ${word}`)
  if (program === undefined)
    throw new UsageError(`the command is missing: latchkey ${command} ${word} -- CMD ARGS`)
  keyWord(name)
  const killAfter = duration(line, 'kill-after') ?? 10_000
  return { name, command: program, args, killAfter, ...timesOf(line) }
}

/**
 * Returns the hold, or undefined if other clients held the lock during the whole wait. If the cluster has no
 * leader, the function throws ERR_TIMEOUT instead, because the lock may be free.
 */
export async function heldUnlessBusy<H>(
  store: CommandStore,
  { wait }: Times,
  attempt: Promise<H | undefined>,
): Promise<H | undefined> {
  try {
    return await attempt
  } catch (error) {
    const isOver = wait !== undefined && isLatchkeyError(error, 'ERR_TIMEOUT')
    if (isOver && (await hasLeader(store))) return undefined
    throw error
  }
}

export async function runWhileHeld(held: Held, run: Run, io: Io): Promise<number> {
  try {
    return await runUnder(held, run, io)
  } finally {
    await release(held, io)
  }
}

/** A failed release does not change the exit code of CMD, because the lease ends the hold anyway. */
async function release({ hold, what }: Held, io: Io): Promise<void> {
  try {
    // After a lost hold, the cluster is probably unreachable, so the release has a short timeout.
    await hold.release(hold.signal.aborted ? { timeout: '500ms' } : undefined)
  } catch (error) {
    io.err(`latchkey: ${what} was not released, its lease will end it: ${explain(error)}\n`)
  }
}

const FORWARDED = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const

type Ending =
  | { readonly type: 'ended'; readonly code: number }
  | { readonly type: 'not-started'; readonly code: number; readonly reason: string }

async function runUnder(
  { hold, name, what }: Held,
  { command, args, killAfter }: Run,
  io: Io,
): Promise<number> {
  io.interrupted.throwIfAborted()
  const env = { ...io.env, LATCHKEY_LOCK_KEY: name, LATCHKEY_LOCK_TOKEN: String(hold.token) }
  const child = io.spawn(command, args, env)
  const offSignals = io.takeSignals((signal) => child.kill(signal), FORWARDED)
  const stop = stopAtLoss({ hold, name, what }, child, killAfter, io)
  const ending = await endOf(child)
  offSignals()
  stop.off()
  if (ending.type === 'not-started') {
    io.err(`latchkey: ${command}: ${ending.reason}\n`)
    return ending.code
  }
  return stop.lost() ? EXIT.busy : ending.code
}

function stopAtLoss({ hold, what }: Held, child: ChildProcess, killAfter: number, io: Io) {
  let lost = false
  let timer: { cancel(): void } | undefined
  const run = () => {
    lost = true
    io.err(`latchkey: ${what} was lost; stopping the command\n`)
    child.kill('SIGTERM')
    timer = io.clock.after(killAfter, () => child.kill('SIGKILL'))
  }
  hold.signal.addEventListener('abort', run, { once: true })
  if (hold.signal.aborted) run()
  const off = () => {
    hold.signal.removeEventListener('abort', run)
    timer?.cancel()
  }
  return { lost: () => lost, off }
}

const whyNot = ({ code, message }: NodeJS.ErrnoException) =>
  code === 'EACCES' ? 'it may not be run: permission denied' : message

function endOf(child: ChildProcess): Promise<Ending> {
  return new Promise((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      // Node also emits 'error' after a signal that could not be sent. CMD then still runs.
      if (child.pid !== undefined) return
      const code = error.code === 'ENOENT' ? EXIT.notFound : EXIT.cannotRun
      const reason = code === EXIT.notFound ? 'command not found' : whyNot(error)
      resolve({ type: 'not-started', code, reason })
    })
    child.once('exit', (code, signal) => {
      resolve({ type: 'ended', code: signal === null ? (code ?? EXIT.failure) : signalExit(signal) })
    })
  })
}
