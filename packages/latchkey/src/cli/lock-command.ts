// Driver: `latchkey lock`: owns a hold of a lock and the command CMD that runs while the lock is held.
//
// Laws:
// - CMD runs only while the hold can be promised. When it cannot any more, CMD is sent SIGTERM, then SIGKILL,
//   and the exit code is 75.
// - Otherwise the exit code is CMD's own. In every case the lock is released before this process ends.

import type { ChildProcess } from 'node:child_process'
import { CAPS, isLatchkeyError, type LockInfo } from '@latchkey/protocol'
import { type Command, duration, keyWord, type Line, text, UsageError } from './command.js'
import { EXIT, explain, signalExit } from './exit.js'
import { printable, seconds } from './output.js'
import type { AcquireOptions, CommandStore, Hold, Io } from './io.js'
import { hasLeader, STORE_OPTIONS, withStore } from './store.js'

export const lock: Command = {
  name: 'lock',
  usage: 'KEY [--lease 10s] [--wait 30s] -- CMD ARGS...',
  summary: 'Run CMD while holding a lock. CMD finds the fencing token in LATCHKEY_LOCK_TOKEN.',
  notes:
    'The hold is renewed while CMD runs. Signals go to CMD. If the hold is lost, CMD gets SIGTERM, then SIGKILL.\nexit codes: that of CMD (128 + n for a signal); 75 lock busy or lost; 69 no leader; 126, 127 CMD cannot run.',
  options: {
    lease: {
      type: 'string',
      value: 'DURATION',
      help: 'how long the lock outlives this process, 10s by default',
    },
    wait: {
      type: 'string',
      value: 'DURATION',
      help: 'give up after this long; 0: at once; without limit by default',
    },
    'kill-after': {
      type: 'string',
      value: 'DURATION',
      help: 'from SIGTERM to SIGKILL after a loss, 10s by default',
    },
    context: { type: 'string', value: 'TEXT', help: 'shown to those who find the lock taken' },
    ...STORE_OPTIONS,
  },
  examples: [
    'latchkey lock nightly-report -- ./report.sh',
    'latchkey lock deploy --wait 5m --lease 30s -- make deploy',
  ],
  async run(line, io) {
    const [key, ...more] = line.words
    const [command, ...args] = line.rest ?? []
    if (key === undefined || more.length > 0) throw new UsageError('lock takes one KEY')
    if (command === undefined) throw new UsageError('the command is missing: latchkey lock KEY -- CMD ARGS')
    keyWord(key)
    const killAfter = duration(line, 'kill-after') ?? 10_000
    const times = timesOf(line)
    return withStore(line, io, async ({ store }) => {
      const hold = await acquire(store, key, times, line, io)
      if (hold === undefined) return EXIT.busy
      try {
        return await runUnder(hold, [command, args], key, killAfter, io)
      } finally {
        await release(hold, io)
      }
    })
  },
}

interface Times {
  readonly lease: number
  /** 0: one attempt without waiting; undefined: no limit. */
  readonly wait: number | undefined
}

/** Checked before any member is asked. */
function timesOf(line: Line): Times {
  const lease = duration(line, 'lease') ?? 10_000
  if (lease < CAPS.minLease || lease > CAPS.maxLease)
    throw new UsageError(
      `--lease must be from 50 ms to 30 days; got ${JSON.stringify(text(line, 'lease'))}, which is ${lease} ms`,
    )
  return { lease, wait: text(line, 'wait') === '0' ? 0 : duration(line, 'wait') }
}

async function acquire(
  store: CommandStore,
  key: string,
  { lease, wait }: Times,
  line: Line,
  io: Io,
): Promise<Hold | undefined> {
  const options = { lease, context: text(line, 'context'), signal: io.interrupted }
  try {
    const hold =
      wait === 0
        ? await store.locks.tryAcquire(key, options)
        : await acquireAloud(store, key, { ...options, wait }, io)
    if (hold === undefined)
      io.err(`latchkey: the lock ${JSON.stringify(key)} is taken${await holderOf(store, key)}\n`)
    return hold
  } catch (error) {
    if (wait === undefined || !isLatchkeyError(error, 'ERR_TIMEOUT')) throw error
    // The attempt got no answer: that does not mean that another client holds the lock.
    if (!(await hasLeader(store))) throw error
    io.err(`latchkey: the lock ${JSON.stringify(key)} was not free within ${wait} ms\n`)
    return undefined
  }
}

/** A waiting user is shown once on standard error who holds the lock; the wait goes on meanwhile. */
async function acquireAloud(
  store: CommandStore,
  key: string,
  options: AcquireOptions,
  io: Io,
): Promise<Hold> {
  let waits = true
  const timer = io.clock.after(QUIET_WAIT, () => {
    void holderOf(store, key).then((holder) => {
      if (waits && holder !== '') io.err(`latchkey: waiting for ${printable(key)}${holder}\n`)
    })
  })
  try {
    return await store.locks.acquire(key, options)
  } finally {
    waits = false
    timer.cancel()
  }
}

/** In ms; nothing is printed for a shorter wait. */
const QUIET_WAIT = 500

/** ': held by ...'; '' if the holder is not known, or this caller may not know it. */
async function holderOf(store: CommandStore, key: string): Promise<string> {
  const list = await store.locks
    .query(key, { as: 'string', timeout: '1s' })
    .catch(() => [] as LockInfo<'string'>[])
  const info = list.find((one) => one.key === key)
  if (info === undefined) return ''
  const context = info.context === undefined ? '' : ` (${printable(info.context)})`
  return `: held by ${printable(info.id)}${context} for ${seconds(info.sinceMillis)}, token ${info.fencingToken}, ${info.waiters} waiting`
}

/** A failed release only makes the next holder wait for the end of the lease; the exit code stays CMD's. */
async function release(hold: Hold, io: Io): Promise<void> {
  try {
    // If the hold was lost the cluster is most likely out of reach too; the lease ends by itself.
    await hold.release(hold.signal.aborted ? { timeout: '500ms' } : undefined)
  } catch (error) {
    io.err(`latchkey: the lock was not released, its lease will end it: ${explain(error)}\n`)
  }
}

const FORWARDED = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const

type Ending =
  | { readonly type: 'ended'; readonly code: number }
  | { readonly type: 'not-started'; readonly code: number; readonly reason: string }

async function runUnder(
  hold: Hold,
  [command, args]: readonly [string, readonly string[]],
  key: string,
  killAfter: number,
  io: Io,
): Promise<number> {
  io.interrupted.throwIfAborted()
  const env = { ...io.env, LATCHKEY_LOCK_KEY: key, LATCHKEY_LOCK_TOKEN: String(hold.token) }
  const child = io.spawn(command, args, env)
  const offSignals = io.takeSignals((signal) => child.kill(signal), FORWARDED)
  const stop = stopAtLoss(hold, child, killAfter, io)
  const ending = await endOf(child)
  offSignals()
  stop.off()
  if (ending.type === 'not-started') {
    io.err(`latchkey: ${command}: ${ending.reason}\n`)
    return ending.code
  }
  return stop.lost() ? EXIT.busy : ending.code
}

function stopAtLoss(hold: Hold, child: ChildProcess, killAfter: number, io: Io) {
  let lost = false
  let timer: { cancel(): void } | undefined
  const run = () => {
    lost = true
    io.err('latchkey: the lock was lost; stopping the command\n')
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
      // 'error' also occurs when a signal cannot be sent to a running child, which has not ended then.
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
