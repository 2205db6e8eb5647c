// Driver: `latchkey locks` and `latchkey release`, which list holders and waiters, and end a hold by force.
// The list has all kinds of holds, because an operator often does not know which kind blocks a program.

import type { BarrierInfo, CallOptions, HoldKind, LatchInfo, LockHistory, LockInfo } from '@latchkey/protocol'
import {
  type Command,
  flag,
  keyWord,
  UsageError,
  wholeNumber,
  words,
} from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import type { CommandStore } from './command-io-interface.js'
import { field, jsonLine, printable, seconds, span, table } from './print-values.js'
import { JSON_OPTION, STORE_OPTIONS, withStore } from './store-connection-of-command.js'

export const locks: Command = {
  name: 'locks',
  usage: '[PREFIX]',
  summary: 'List all holds of locks, semaphores, elections and web locks, with their holders and waiters.',
  notes: `The context is a text of the holder, for example a host name. For an election, it is the value of the leader. Waiters are
listed in their order in the queue. After the holds, the command lists latches with their remaining counts, and barriers
with waiters. With --history, PREFIX is the whole name of one lock. A member remembers the last 1,024 changes of all locks
since its start.`,
  options: {
    queue: { type: 'boolean', help: 'also list the waiters of each lock' },
    history: { type: 'boolean', help: 'also list the earlier changes of the lock' },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
  },
  examples: ['latchkey locks', 'latchkey locks orders/42 --queue --history', 'latchkey locks --json'],
  async run(line, io) {
    const [given] = words(line, 0, 1)
    const prefix = given === '' ? undefined : given
    const queue = flag(line, 'queue')
    const name = flag(line, 'history') ? keyWord(given) : undefined
    return withStore(line, io, async ({ store, json, call }) => {
      const options = { ...call, as: 'bytes' } as const
      const [holds, latches, barriers] = await Promise.all([
        store.locks.query(prefix, { ...options, queue, kind: 'all' }),
        store.latches.query(prefix, options),
        store.barriers.query(prefix, options),
      ])
      const past = name === undefined ? [] : await historiesOf(store, name, call)
      const lines = [...holds.map(asJson), ...latches.map(latchJson), ...barriers.map(barrierJson)]
      io.out(
        json
          ? [...lines, ...past.flatMap(pastJson)].map(jsonLine).join('')
          : listText(holds, latches, barriers) + past.map(pastText).join(''),
      )
      return EXIT.ok
    })
  },
}

/** The names are the same as in the metrics. */
const KINDS: Readonly<Record<HoldKind, string>> = {
  lock: 'lock',
  semaphore: 'semaphore',
  election: 'election',
  webLock: 'web_lock',
}

function asJson({ key, kind = 'lock', context, queue, ...rest }: LockInfo) {
  const waiting = queue?.map(({ context, ...waiter }) => ({ ...waiter, ...contextField(context) }))
  return {
    kind: KINDS[kind],
    ...field('key', key),
    ...rest,
    ...contextField(context),
    ...(waiting === undefined ? {} : { queue: waiting }),
  }
}

const contextField = (context: string | Uint8Array | undefined) =>
  typeof context === 'string' ? { context } : field('context', context)

const latchJson = ({ name, ...rest }: LatchInfo) => ({ kind: 'latch', ...field('key', name), ...rest })
const barrierJson = ({ name, ...rest }: BarrierInfo) => ({ kind: 'barrier', ...field('key', name), ...rest })

interface Past {
  readonly kind: HoldKind
  readonly name: string
  readonly changes: LockHistory
}

/**
 * Returns the histories of the key by kind, without empty ones. An empty history of the kind `lock` is also
 * returned, so that the user reads that nothing happened.
 */
async function historiesOf(
  store: Pick<CommandStore, 'locks'>,
  name: string,
  call: CallOptions,
): Promise<Past[]> {
  const kinds = Object.keys(KINDS) as HoldKind[]
  const all = await Promise.all(
    kinds.map(async (kind) => ({ kind, name, changes: await store.locks.history(name, { ...call, kind }) })),
  )
  return all.filter(({ kind, changes }) => kind === 'lock' || changes.length > 0)
}

const pastJson = ({ kind, name, changes }: Past) =>
  changes.map(({ context, ...change }) => ({
    kind: KINDS[kind],
    key: name,
    ...change,
    ...contextField(context),
  }))

function pastText({ kind, name, changes }: Past): string {
  const what = `${KINDS[kind].replace('_', ' ')} ${printable(name)}`
  const reach = `the last ${span(changes.sinceMillis)} of ${what}, as far as this member remembers`
  if (changes.length === 0) return `\nnothing happened in ${reach}\n`
  const rows = changes.map(({ type, id, context, fencingToken, agoMillis }) => [
    `${span(agoMillis)} ago`,
    type,
    printable(id),
    shown(context),
    fencingToken === 0 ? '-' : String(fencingToken),
  ])
  return `\n${reach}:\n${table([['when', 'what', 'who', 'context', 'token'], ...rows])}`
}

const HEAD = ['kind', 'key', 'mode', 'holder', 'context', 'token', 'held for', 'lease left', 'waiters']

function listText(
  holds: readonly LockInfo[],
  latches: readonly LatchInfo[],
  barriers: readonly BarrierInfo[],
): string {
  if (holds.length + latches.length + barriers.length === 0) return 'nothing is held\n'
  const ofLatch = ({ name, count, waiters }: LatchInfo) =>
    waited('latch', name, count === 0 ? 'open' : `${count} to count`, waiters)
  const ofBarrier = ({ name, parties, waiters }: BarrierInfo) =>
    waited('barrier', name, `${waiters} of ${parties}`, waiters)
  return table([HEAD, ...holds.flatMap(holdRows), ...latches.map(ofLatch), ...barriers.map(ofBarrier)])
}

const waited = (kind: string, name: Uint8Array, how: string, waiters: number): string[] => [
  kind,
  printable(name),
  how,
  '-',
  '-',
  '-',
  '-',
  '-',
  String(waiters),
]

function holdRows(info: LockInfo): string[][] {
  const { key, kind = 'lock', mode, permits, id, context, fencingToken, waiters, queue } = info
  return [
    [
      KINDS[kind],
      printable(key),
      permits === undefined ? mode : permitsOf(permits),
      printable(id),
      shown(context),
      String(fencingToken),
      seconds(info.sinceMillis),
      seconds(info.remainingMillis),
      String(waiters),
    ],
    ...(queue ?? []).map((waiter, at) => [
      '',
      `  ${at + 1}. waits`,
      waiter.permits === undefined ? waiter.mode : permitsOf(waiter.permits),
      printable(waiter.id),
      shown(waiter.context),
      '',
      seconds(waiter.waitedMillis),
    ]),
  ]
}

const permitsOf = (permits: number): string => (permits === 1 ? '1 permit' : `${permits} permits`)

const shown = (context: string | Uint8Array | undefined): string =>
  context === undefined ? '-' : printable(context)

export const release: Command = {
  name: 'release',
  usage: 'KEY --force [--fencing-token N]',
  summary: 'End the hold of a lock by force. The first waiter gets the lock at once.',
  notes: `The command does not ask the holder, which may still be working. The store refuses later writes with the fencing token of
the hold, but nothing stops the other work of the holder. With --fencing-token, the command ends only the hold with this
token. So it cannot end a newer hold by mistake.`,
  options: {
    force: { type: 'boolean', help: 'required, because the holder is not asked' },
    'fencing-token': { type: 'string', value: 'N', help: 'end only the hold with this token' },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
  },
  examples: ['latchkey release orders/42 --force', 'latchkey release orders/42 --force --fencing-token 7'],
  async run(line, io) {
    const key = keyWord(words(line, 1, 1)[0])
    if (!flag(line, 'force'))
      throw new UsageError(
        `release ends the hold without asking the holder, which may still be working: confirm this with --force. 'latchkey locks' shows the holder`,
      )
    const wanted = wholeNumber(line, 'fencing-token', 1)
    return withStore(line, io, async ({ store, json, call }) => {
      const list = await store.locks.query(key, { ...call, as: 'string' })
      const token = wanted ?? tokenOf(list, key)
      const released = token !== undefined && (await store.locks.forceRelease(key, token, call))
      if (json) io.out(jsonLine({ key, released, ...(token === undefined ? {} : { fencingToken: token }) }))
      else if (released) io.out(`released ${printable(key)}, which was held with token ${token}\n`)
      else
        io.err(
          `latchkey: ${printable(key)} is not held${wanted === undefined ? '' : ` with token ${wanted}`}\n`,
        )
      return released ? EXIT.ok : EXIT.failure
    })
  },
}

const tokenOf = (list: readonly LockInfo<'string'>[], key: string): number | undefined =>
  list.find((info) => info.key === key)?.fencingToken
