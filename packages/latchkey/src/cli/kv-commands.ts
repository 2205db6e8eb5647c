// Driver: the commands get, put, incr, del, scan and watch.

import type { Consistency, KeyValue, WatchEvent } from '@latchkey/protocol'
import {
  type Command,
  duration,
  flag,
  keyWord,
  type Line,
  text,
  UsageError,
  wholeNumber,
  words,
} from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import type { Io } from './command-io-interface.js'
import { field, jsonLine } from './print-values.js'
import { JSON_OPTION, type Session, STORE_OPTIONS, withStore } from './store-connection-of-command.js'

const STALE = {
  stale: { type: 'boolean', help: 'read the data of this member, which may lack the last writes' },
} as const
const consistency = (line: Line): Consistency => (flag(line, 'stale') ? 'stale' : 'linearizable')

export const get: Command = {
  name: 'get',
  usage: 'KEY',
  summary:
    'Print the value of a key without changes. If the key does not exist, print nothing and exit with 1.',
  options: { ...JSON_OPTION, ...STALE, ...STORE_OPTIONS },
  examples: ['latchkey get orders/42', 'latchkey get orders/42 --json'],
  async run(line, io) {
    const key = keyWord(words(line, 1, 1)[0])
    return withStore(line, io, async ({ store, json, call }) => {
      const entry = await store.getEntry(key, { ...call, as: 'bytes', consistency: consistency(line) })
      if (entry === undefined) return EXIT.failure
      const { value, createRevision, modRevision, version, remainingMillis } = entry
      if (json)
        io.out(
          jsonLine({ key, ...field('value', value), createRevision, modRevision, version, remainingMillis }),
        )
      else raw(io, value)
      return EXIT.ok
    })
  },
}

function raw(io: Io, value: Uint8Array): void {
  io.out(value)
  if (io.isTerminal) io.out('\n')
}

export const put: Command = {
  name: 'put',
  usage: 'KEY [VALUE]',
  summary: 'Store a value. Without VALUE, the command reads the value from standard input.',
  options: {
    ttl: {
      type: 'string',
      value: 'D',
      help: 'delete the key after this time, for example 30s; by default, the key stays',
    },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
  },
  examples: [
    'latchkey put orders/42 paid',
    'latchkey put worker/7 here --ttl 30s',
    'latchkey put photo < photo.jpg',
  ],
  async run(line, io) {
    const [given, value] = words(line, 1, 2)
    const key = keyWord(given)
    const ttl = duration(line, 'ttl')
    const bytes = value ?? (await io.stdin())
    return withStore(line, io, async ({ store, json, call }) => {
      const { revision } = await store.put(key, bytes, { ...call, ttl })
      if (json) io.out(jsonLine({ revision }))
      return EXIT.ok
    })
  },
}

export const incr: Command = {
  name: 'incr',
  usage: 'KEY [N]',
  summary: 'Add N (1 by default) to a stored whole number, and print the sum. A missing key counts as 0.',
  options: { ...JSON_OPTION, ...STORE_OPTIONS },
  examples: ['latchkey incr visits', 'latchkey incr stock/7 -- -3'],
  async run(line, io) {
    const [given, by = '1'] = words(line, 1, 2)
    const key = keyWord(given)
    if (!/^[+-]?[0-9]+$/.test(by) || !Number.isSafeInteger(Number(by)))
      throw new UsageError(`N must be a whole number; got ${JSON.stringify(by)}`)
    return withStore(line, io, async ({ store, json, call }) => {
      const { value, revision } = await store.increment(key, Number(by), call)
      io.out(json ? jsonLine({ value, revision }) : `${value}\n`)
      return EXIT.ok
    })
  },
}

export const del: Command = {
  name: 'del',
  usage: 'KEY...',
  summary: 'Delete keys in one atomic step, and print how many keys existed.',
  options: { ...JSON_OPTION, ...STORE_OPTIONS },
  examples: ['latchkey del orders/42', 'latchkey del a b c --json'],
  async run(line, io) {
    const keys = words(line, 1, Number.POSITIVE_INFINITY).map(keyWord)
    return withStore(line, io, async ({ store, json, call }) => {
      const removed = await store.deleteAll(keys, call)
      io.out(json ? jsonLine({ removed }) : `${removed}\n`)
      return EXIT.ok
    })
  },
}

export const scan: Command = {
  name: 'scan',
  usage: '[--prefix P]',
  summary: 'Print keys and values of one revision, in the order of their bytes, separated by tabs.',
  options: {
    prefix: { type: 'string', value: 'P', help: 'only keys that begin with P' },
    gte: { type: 'string', value: 'KEY', help: 'only KEY and later keys' },
    lt: { type: 'string', value: 'KEY', help: 'only keys before KEY' },
    limit: { type: 'string', value: 'N', help: 'print at most N keys' },
    reverse: { type: 'boolean', help: 'print the last key first' },
    'keys-only': { type: 'boolean', help: 'print no values' },
    ...JSON_OPTION,
    ...STALE,
    ...STORE_OPTIONS,
  },
  examples: [
    'latchkey scan --prefix orders/',
    'latchkey scan --limit 10 --keys-only',
    'latchkey scan --json',
  ],
  async run(line, io) {
    words(line, 0, 0)
    const range = {
      prefix: text(line, 'prefix'),
      gte: text(line, 'gte'),
      lt: text(line, 'lt'),
      limit: wholeNumber(line, 'limit', 0),
      reverse: flag(line, 'reverse'),
      keysOnly: flag(line, 'keys-only'),
    }
    return withStore(line, io, async ({ store, json, call }) => {
      const rows = store.entries(range, { ...call, as: 'bytes', consistency: consistency(line) })
      await (json ? printArray(rows, io) : printRows(rows, io))
      return EXIT.ok
    })
  },
}

async function printRows(rows: AsyncIterable<KeyValue>, io: Io): Promise<void> {
  for await (const { key, value } of rows) {
    io.out(key)
    if (value !== undefined) io.out('\t')
    if (value !== undefined) io.out(value)
    io.out('\n')
  }
}

async function printArray(rows: AsyncIterable<KeyValue>, io: Io): Promise<void> {
  let before = '['
  for await (const { key, value } of rows) {
    io.out(`${before}\n${JSON.stringify({ ...field('key', key), ...field('value', value) })}`)
    before = ','
  }
  io.out(before === '[' ? '[]\n' : '\n]\n')
}

export const watch: Command = {
  name: 'watch',
  usage: 'KEY | --prefix P',
  summary:
    'Print each change of keys until you interrupt the command. After a lost connection, it continues by itself.',
  options: {
    prefix: { type: 'string', value: 'P', help: 'all keys that begin with P' },
    from: {
      type: 'string',
      value: 'REVISION',
      help: 'begin with this revision; by default, begin with the next change',
    },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
  },
  examples: [
    'latchkey watch orders/42',
    'latchkey watch --prefix orders/ --json',
    'latchkey watch orders/42 --from 17',
  ],
  async run(line, io) {
    const [key] = words(line, 0, 1)
    const prefix = text(line, 'prefix')
    if ((key === undefined) === (prefix === undefined))
      throw new UsageError('watch takes a KEY or a --prefix')
    const target = { key, prefix, from: wholeNumber(line, 'from', 1) }
    if (key !== undefined) keyWord(key)
    return withStore(line, io, (session) => follow(session, target, io))
  },
}

async function follow({ store, json, call }: Session, target: object, io: Io): Promise<number> {
  for await (const event of store.watch(target, { signal: call.signal, as: 'bytes' })) {
    io.out(json ? jsonLine(eventJson(event)) : eventText(event))
  }
  return EXIT.ok
}

const eventJson = ({ revision, type, reason, key, value, previous }: WatchEvent) => ({
  revision,
  type,
  reason,
  ...field('key', key),
  ...field('value', value),
  ...field('previous', previous),
})

const decoder = new TextDecoder()
const eventText = ({ revision, type, key, value }: WatchEvent) =>
  `${revision}\t${type}\t${decoder.decode(key)}${value === undefined ? '' : `\t${decoder.decode(value)}`}\n`
