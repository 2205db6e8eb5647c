// Driver: `latchkey locks` and `latchkey release`: list who holds which lock and who waits for it, and end a
// hold by force.

import type { LockInfo } from '@latchkey/protocol'
import { type Command, flag, keyWord, UsageError, wholeNumber, words } from './command.js'
import { EXIT } from './exit.js'
import { field, jsonLine, printable, seconds, table } from './output.js'
import { JSON_OPTION, STORE_OPTIONS, withStore } from './store.js'

export const locks: Command = {
  name: 'locks',
  usage: '[PREFIX]',
  summary: 'List the locks that are held: by whom, since when, and who waits.',
  notes:
    'The context is what a holder gave as its own: a host name, a job. Waiters stand in the order in which they will have the lock.',
  options: {
    queue: { type: 'boolean', help: 'also list who waits for each lock' },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
  },
  examples: ['latchkey locks', 'latchkey locks orders/ --queue', 'latchkey locks --json'],
  async run(line, io) {
    const [prefix] = words(line, 0, 1)
    const queue = flag(line, 'queue')
    return withStore(line, io, async ({ store, json, call }) => {
      const list = await store.locks.query(prefix === '' ? undefined : prefix, {
        ...call,
        as: 'bytes',
        queue,
      })
      io.out(json ? list.map((info) => jsonLine(asJson(info))).join('') : listText(list))
      return EXIT.ok
    })
  },
}

function asJson({ key, context, queue, ...rest }: LockInfo) {
  const waiting = queue?.map(({ context, ...waiter }) => ({ ...waiter, ...contextField(context) }))
  return {
    ...field('key', key as Uint8Array),
    ...rest,
    ...contextField(context),
    ...(waiting === undefined ? {} : { queue: waiting }),
  }
}

const contextField = (context: string | Uint8Array | undefined) =>
  typeof context === 'string' ? { context } : field('context', context)

function listText(list: readonly LockInfo[]): string {
  if (list.length === 0) return 'no lock is held\n'
  const rows = list.flatMap(
    ({ key, id, context, fencingToken, sinceMillis, remainingMillis, waiters, queue }) => [
      [
        printable(key as Uint8Array),
        printable(id),
        context === undefined ? '-' : printable(context),
        String(fencingToken),
        seconds(sinceMillis),
        seconds(remainingMillis),
        String(waiters),
      ],
      ...(queue ?? []).map((waiter, at) => [
        `  ${at + 1}. waits`,
        printable(waiter.id),
        waiter.context === undefined ? '-' : printable(waiter.context),
        '',
        seconds(waiter.waitedMillis),
      ]),
    ],
  )
  return table([['key', 'holder', 'context', 'token', 'held for', 'lease left', 'waiters'], ...rows])
}

export const release: Command = {
  name: 'release',
  usage: 'KEY --force [--fencing-token N]',
  summary: 'Take a lock from whoever holds it. The next in its queue has it at once.',
  notes: `The holder is not asked, and may still be at work: writes with its fencing token are refused from then on, anything else that it does
is not. With --fencing-token only that very hold is ended, so that a list that is a minute old does not end a hold of today.`,
  options: {
    force: { type: 'boolean', help: 'needed, since the holder is not asked' },
    'fencing-token': { type: 'string', value: 'N', help: 'only the hold with this token' },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
  },
  examples: ['latchkey release orders/42 --force', 'latchkey release orders/42 --force --fencing-token 7'],
  async run(line, io) {
    const key = keyWord(words(line, 1, 1)[0])
    if (!flag(line, 'force'))
      throw new UsageError(
        `release takes the lock from a holder that is not asked and may still be at work: say so with --force. 'latchkey locks' tells who it is`,
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
