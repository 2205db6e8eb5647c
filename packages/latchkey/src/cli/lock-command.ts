// Driver: `latchkey lock` acquires a lock and runs a command. While another client holds the lock, the user
// sees who holds it.

import type { LockInfo } from '@latchkey/protocol'
import { type Command, flag, type Line, text } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import { printable, seconds } from './print-values.js'
import type { AcquireOptions, CommandStore, Hold, Io } from './command-io-interface.js'
import {
  heldUnlessBusy,
  RUN_NOTES,
  RUN_OPTIONS,
  type Run,
  runOf,
  runWhileHeld,
} from './run-command-while-held.js'
import { STORE_OPTIONS, withStore } from './store-connection-of-command.js'

export const lock: Command = {
  name: 'lock',
  usage: 'KEY [--lease 10s] [--wait 30s] [--shared] -- CMD ARGS...',
  summary: 'Run CMD while this process holds a lock. CMD gets the fencing token in LATCHKEY_LOCK_TOKEN.',
  notes: RUN_NOTES,
  options: {
    ...RUN_OPTIONS,
    shared: { type: 'boolean', help: 'acquire the lock in shared mode' },
    context: {
      type: 'string',
      value: 'TEXT',
      help: 'a text about the holder, which other callers see; default: host and process id',
    },
    ...STORE_OPTIONS,
  },
  examples: [
    'latchkey lock nightly-report -- ./report.sh',
    'latchkey lock deploy --wait 5m --lease 30s -- make deploy',
  ],
  async run(line, io) {
    const run = runOf(line, 'lock', 'KEY')
    return withStore(line, io, async ({ store }) => {
      const hold = await acquire(store, run, line, io)
      return hold === undefined
        ? EXIT.busy
        : runWhileHeld({ hold, name: run.name, what: 'the lock' }, run, io)
    })
  },
}

async function acquire(store: CommandStore, run: Run, line: Line, io: Io): Promise<Hold | undefined> {
  const { name: key, lease, wait } = run
  const mode = flag(line, 'shared') ? 'shared' : 'exclusive'
  const options = {
    lease,
    context: text(line, 'context') ?? io.processName,
    signal: io.interrupted,
    mode,
  } as const
  const attempt =
    wait === 0 ? store.locks.tryAcquire(key, options) : acquireAloud(store, key, { ...options, wait }, io)
  const hold = await heldUnlessBusy(store, run, attempt)
  if (hold === undefined) {
    const what = wait ? `was not free within ${wait} ms` : 'is taken'
    io.err(`latchkey: the lock ${JSON.stringify(key)} ${what}${await holderOf(store, key)}\n`)
  }
  return hold
}

/**
 * After a wait of QUIET_WAIT, the function prints once on standard error who holds the lock, and continues to
 * wait.
 */
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

/** In ms. If the wait is shorter than this, the command prints nothing. */
const QUIET_WAIT = 500

/** Returns ': held by ...', or '' if the holder is unknown or this client may not read the lock. */
async function holderOf(store: CommandStore, key: string): Promise<string> {
  const list = await store.locks
    .query(key, { as: 'string', timeout: '1s' })
    .catch(() => [] as LockInfo<'string'>[])
  const info = list.find((one) => one.key === key)
  if (info === undefined) return ''
  const context = info.context === undefined ? '' : ` (${printable(info.context)})`
  return `: held by ${printable(info.id)}${context} for ${seconds(info.sinceMillis)}, token ${info.fencingToken}, ${info.waiters} waiting`
}
