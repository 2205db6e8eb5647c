// Test: the output, as text and as JSON, and the exit codes of the commands, with a real store in memory.
// long: one store serves the tests of all commands

import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { LatchkeyError } from '@latchkey/protocol'
import { type FakeWorld, fakeIo } from '../../test/fake-io.js'
import { type EmbeddedStore, open } from '../open/index.js'
import { freePorts } from '../open/testing/free-ports.js'
import type { CommandStore } from './command-io-interface.js'
import { main } from './main.js'

const parts = {
  version: '0',
  sidecar: () => Promise.reject(new Error('not here')),
  restore: async () => async (path: string, options: object) => void restored.push({ path, ...options }),
  recover: async () => async (path: string, options: object) => {
    recovered.push({ path, ...options })
    return {
      id: 'a',
      cluster: 'latchkey',
      clusterId: 'old',
      voters: ['a', 'b', 'c'],
      term: 3,
      index: 1042,
      fromLog: 17,
    }
  },
}
const restored: object[] = []
const recovered: object[] = []
let store: EmbeddedStore
/** The same store for every command: closing it is the test's matter. */
const kept = (): CommandStore =>
  new Proxy(store, {
    get(target, name) {
      if (name === 'close') return async () => {}
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })

beforeAll(async () => {
  store = await open({ id: 'a', memory: true, electionTimeout: 100, heartbeat: 10 })
  await store.ready()
})
beforeEach(async () => {
  await store.deleteRange('\0', '\xff')
})
afterAll(() => store.close())

async function run(args: string[], world: FakeWorld = {}) {
  const io = fakeIo({ connect: kept, ...world })
  const code = await main(args, io, parts)
  return { code, ...io.printed }
}

describe('get and put', () => {
  test('a value goes out raw, with a newline on a terminal only', async () => {
    expect(await run(['put', 'k', 'value'])).toEqual({ code: 0, out: '', err: '' })
    expect(await run(['get', 'k'])).toEqual({ code: 0, out: 'value', err: '' })
    expect((await run(['get', 'k'], { isTerminal: true })).out).toBe('value\n')
  })

  test('an absent key: nothing is printed, exit code 1', async () => {
    expect(await run(['get', 'absent'])).toEqual({ code: 1, out: '', err: '' })
    expect(await run(['get', 'absent', '--json'])).toEqual({ code: 1, out: '', err: '' })
  })

  test('without a value it is read from standard input', async () => {
    await run(['put', 'k'], { stdin: 'from stdin\n' })
    expect((await run(['get', 'k'])).out).toBe('from stdin\n')
  })

  test('as JSON: the revision; the entry, in base64 where it is no text', async () => {
    const { revision } = JSON.parse((await run(['put', 'k', 'v', '--json'])).out) as { revision: number }
    expect(JSON.parse((await run(['get', 'k', '--json'])).out)).toEqual({
      key: 'k',
      value: 'v',
      createRevision: revision,
      modRevision: revision,
      version: 1,
    })
    await store.put('k', Uint8Array.of(0xff, 0))
    expect(JSON.parse((await run(['get', 'k', '--json'])).out)).toMatchObject({ valueBase64: '/wA=' })
  })

  test('words behind -- are words', async () => {
    expect((await run(['put', '--', '-k', '--v'])).code).toBe(0)
    expect((await run(['get', '--', '-k'])).out).toBe('--v')
  })

  test('an empty key is a mistake of usage', async () => {
    expect(await run(['get', ''])).toMatchObject({ code: 2, out: '' })
  })
})

describe('put --ttl', () => {
  test('the key goes by itself; get --json says what remains; what is no duration is a mistake of usage', async () => {
    expect((await run(['put', 'short', 'v', '--ttl', '1h'])).code).toBe(0)
    const entry = JSON.parse((await run(['get', 'short', '--json'])).out) as { remainingMillis: number }
    expect(entry.remainingMillis).toBeGreaterThan(3_000_000)
    expect((await run(['put', 'short', 'v', '--ttl', '1'])).code).toBe(0)
    while ((await run(['get', 'short'])).code === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    expect((await run(['put', 'short', 'v', '--ttl', 'soon'])).code).toBe(2)
  })
})

describe('incr', () => {
  test('prints the sum; by 1 unless it is said, and a number that begins with a dash stands behind --', async () => {
    expect(await run(['incr', 'n'])).toEqual({ code: 0, out: '1\n', err: '' })
    expect((await run(['incr', 'n', '9'])).out).toBe('10\n')
    expect((await run(['incr', 'n', '--', '-12'])).out).toBe('-2\n')
    expect(JSON.parse((await run(['incr', 'n', '--json'])).out)).toMatchObject({ value: -1 })
  })

  test('what is no number is a mistake of usage; what is stored and is none fails', async () => {
    for (const by of ['1.5', 'x', '', '9007199254740993'])
      expect(await run(['incr', 'n', by])).toMatchObject({ code: 2, out: '' })
    await run(['put', 'word', 'seven'])
    const refused = await run(['incr', 'word'])
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('ERR_NOT_A_NUMBER')
  })
})

test('del prints how many there were', async () => {
  await store.putAll([
    ['a', '1'],
    ['b', '2'],
  ])
  expect(await run(['del', 'a', 'b', 'c'])).toMatchObject({ code: 0, out: '2\n' })
  expect(await run(['del', 'a', '--json'])).toMatchObject({ code: 0, out: '{"removed":0}\n' })
})

test('scan prints keys and values in order, or one JSON array', async () => {
  await store.putAll([
    ['p/b', '2'],
    ['p/a', '1'],
    ['q', '3'],
  ])
  expect((await run(['scan'])).out).toBe('p/a\t1\np/b\t2\nq\t3\n')
  expect((await run(['scan', '--prefix', 'p/', '--reverse', '--keys-only'])).out).toBe('p/b\np/a\n')
  expect((await run(['scan', '--gte', 'p/b', '--lt', 'r', '--limit', '1'])).out).toBe('p/b\t2\n')
  expect(JSON.parse((await run(['scan', '--prefix', 'p/', '--json'])).out)).toEqual([
    { key: 'p/a', value: '1' },
    { key: 'p/b', value: '2' },
  ])
  expect((await run(['scan', '--prefix', 'none', '--json'])).out).toBe('[]\n')
})

test('watch prints one object a line, from a revision, until it is interrupted', async () => {
  const { revision } = await store.put('w', '1')
  await store.delete('w')
  await store.put('other', 'x')
  const io = fakeIo({ connect: kept })
  const ended = main(['watch', 'w', '--from', String(revision), '--json'], io, parts)
  await store.put('w', '2')
  await expect.poll(() => io.printed.out.split('\n').length, { interval: 5 }).toBe(4)
  io.signal('SIGINT')
  expect(await ended).toBe(130)
  const events = io.printed.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  expect(events).toEqual([
    { revision, type: 'put', key: 'w', value: '1' },
    { revision: revision + 1, type: 'delete', key: 'w', previous: '1' },
    { revision: revision + 3, type: 'put', key: 'w', value: '2' },
  ])
})

test('status and members, for people and as JSON', async () => {
  const text = await run(['status'])
  expect(text).toMatchObject({ code: 0, err: '' })
  expect(text.out).toMatch(/^leader +a$/m)
  expect(text.out).toMatch(/^version +[0-9.]+$/m)
  expect(text.out).toMatch(/^up for +[0-9]+ s$/m)
  expect(JSON.parse((await run(['status', '--json'])).out)).toMatchObject({ id: 'a', role: 'leader' })
  expect((await run(['members'])).out).toMatch(/^id +role +alive +lag +url\na +voter/)
  expect(JSON.parse((await run(['members', '--json'])).out)).toMatchObject([{ id: 'a', role: 'voter' }])
})

test('status without a leader: who is missing, and what to do, in the words of ready()', async () => {
  const [a, b, c] = await freePorts(3)
  const members = { a: `ws://127.0.0.1:${a}`, b: `ws://127.0.0.1:${b}`, c: `ws://127.0.0.1:${c}` }
  const lonely = await open({ id: 'a', memory: true, members, logger: false })
  try {
    const why =
      'This cluster is new, and starts once its members have met each other: member a has not met b, c yet. Start what is missing.'
    // A call whose time is over before the member has said why does not say so either.
    const said = () => lonely.ready({ timeout: 50 }).catch((error: LatchkeyError) => error.message)
    await expect.poll(said).toContain(why)
    const world = { connect: () => lonely as unknown as CommandStore }
    const io = fakeIo(world)
    expect(await main(['status'], io, parts)).toBe(0)
    const text = io.printed.out
    expect(text).toMatch(/^leader +none$/m)
    expect(text).toContain(`\n${why}\n`)
  } finally {
    await lonely.close()
  }
})

test('console: the address of the first member that answers, without a token', async () => {
  const args = ['--endpoint', '127.0.0.1:1', '--endpoint', 'wss://there.example:7001', '--token', 'secret']
  const connect = (urls: readonly string[]) => {
    if (urls.includes('wss://there.example:7001')) throw new LatchkeyError('ERR_UNAUTHORIZED')
    throw new LatchkeyError('ERR_NO_LEADER')
  }
  const url = 'https://there.example:7001/'
  expect(await run(['console', ...args], { connect })).toEqual({ code: 0, out: `${url}\n`, err: '' })
  expect(JSON.parse((await run(['console', '--json', ...args], { connect })).out)).toEqual({ url })
  expect((await run(['console', ...args.slice(0, 2)], { connect })).code).toBe(69)
})

test('sessions: the list, as text and as JSON, and the end of one', async () => {
  await store.put('k', 'v')
  type Listed = { id: number; openedBy: string }
  const listed = JSON.parse((await run(['sessions', '--json'])).out) as Listed[]
  // On a slow machine the store may have had another session before, which has not ended yet.
  const row = { openedBy: 'embedded in a', holds: 0, waiters: 0 }
  expect(listed).toMatchObject(listed.map(() => row))
  const { id } = listed.at(-1) as Listed
  const text = await run(['sessions'])
  expect(text.out).toMatch(/^id +opened by +silent for +ends in +locks +waits\n/)
  expect(text.out).toMatch(new RegExp(`^${id} +embedded in a +[0-9.]+ s`, 'm'))
  expect(await run(['sessions', '--end', String(id)])).toEqual({
    code: 0,
    out: `session ${id} is ended\n`,
    err: '',
  })
  expect(await run(['sessions', '--end', String(id), '--json'])).toMatchObject({
    code: 1,
    out: `{"id":${id},"ended":false}\n`,
  })
  for (const wrong of ['0', '-1', 'a', '1e3', '1.5'])
    expect((await run(['sessions', `--end=${wrong}`])).code).toBe(2)
  await store.put('k', 'with another session')
})

test('locks: who holds and who waits, as text and as JSON; release ends a hold by force, and only with --force', async () => {
  expect((await run(['locks'])).out).toBe('nothing is held\n')
  const hold = await store.locks.acquire('jobs/1', { lease: '60s', context: 'host\u001b[31m' })
  const waits = store.locks.acquire('jobs/1', { context: 'next' })
  while ((await store.locks.query('jobs/1'))[0]?.waiters !== 1)
    await new Promise((done) => setTimeout(done, 5))
  const listed = JSON.parse((await run(['locks', 'jobs/', '--queue', '--json'])).out) as object
  expect(listed).toMatchObject({
    kind: 'lock',
    key: 'jobs/1',
    mode: 'exclusive',
    fencingToken: hold.token,
    context: 'host\u001b[31m',
    waiters: 1,
    queue: [{ context: 'next', waitedMillis: expect.any(Number) as number }],
    sinceMillis: expect.any(Number) as number,
  })
  const { out } = await run(['locks', '--queue'])
  expect(out).toMatch(/^kind +key +mode +holder +context +token +held for +lease left +waiters\n/)
  // What others have written may not command the terminal.
  expect(out).toContain('"host\\u001b[31m"')
  expect(out).toMatch(/\n +1\. waits +exclusive +[0-9a-f]+ +next/)
  expect((await run(['locks', 'none/'])).out).toBe('nothing is held\n')
  const past = (await run(['locks', 'jobs/1', '--queue', '--history'])).out.split('\n\n')
  expect(past[0]).toMatch(/\n +1\. waits/)
  expect(past[1]).toMatch(
    /^the last \d.* of lock jobs\/1, as far as this member remembers:\nwhen +what +who +context +token\n/,
  )
  expect(past[1]).toMatch(
    /\n\d+ s ago +acquired +[0-9a-f]+ +"host\\u001b\[31m" +\d+\n.* queued +[0-9a-f]+ +next +-\n$/,
  )
  const changes = (await run(['locks', 'jobs/1', '--history', '--json'])).out.trim().split('\n').slice(1)
  expect(changes.map((text) => (JSON.parse(text) as { type: string }).type)).toEqual(['acquired', 'queued'])
  expect((await run(['locks', 'none', '--history'])).out).toMatch(
    /^nothing is held\n\nnothing happened in the last .* of lock none, as far as this member remembers\n$/,
  )
  expect(await run(['locks', '--history'])).toMatchObject({ code: 2 })
  expect(await run(['release', 'jobs/1'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('--force') as string,
  })
  expect(await run(['release', 'jobs/1', '--force', '--fencing-token', '999'])).toMatchObject({ code: 1 })
  expect((await run(['release', 'jobs/1', '--force'])).out).toBe(
    `released jobs/1, which was held with token ${hold.token}\n`,
  )
  await (await waits).release()
  expect(await run(['release', 'jobs/1', '--force'])).toMatchObject({ code: 1 })
})

test('txn: from a file or standard input; the exit code says whether the conditions held', async () => {
  await store.put('stock', '1')
  const reserve = JSON.stringify({
    when: [{ key: 'stock', is: '>', value: 0, as: 'number' }],
    then: [
      { type: 'increment', key: 'stock', by: -1 },
      { type: 'get', key: 'stock' },
    ],
    else: [{ type: 'get', key: 'stock' }],
  })
  const first = await run(['txn', 'reserve.json'], { files: { 'reserve.json': reserve } })
  expect([first.code, first.err]).toEqual([0, ''])
  expect(JSON.parse(first.out)).toMatchObject({ succeeded: true, results: [0, { value: '0' }] })
  const second = await run(['txn'], { stdin: reserve })
  expect(second.code).toBe(1)
  expect(JSON.parse(second.out)).toMatchObject({ succeeded: false, results: [{ value: '0' }] })
  expect(await run(['txn', 'none.json'])).toMatchObject({
    code: 2,
    err: expect.stringContaining('none.json cannot be read') as string,
  })
  expect(await run(['txn'], { stdin: '{' })).toMatchObject({
    code: 2,
    err: expect.stringContaining('is no JSON') as string,
  })
  expect(await run(['txn'], { stdin: '{"if":[]}' })).toMatchObject({
    code: 2,
    err: expect.stringContaining('unknown field "if" of txn') as string,
  })
})

test('completion: scripts for each shell know every command; bash takes its own', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, out } = await run(['completion', shell])
    expect(code).toBe(0)
    for (const name of ['put', 'release', 'completion']) expect(out).toContain(name)
  }
  const { out } = await run(['completion', 'bash'])
  const asked = (words: string, at: number) =>
    execFileSync(
      'bash',
      ['-c', `${out}COMP_WORDS=(${words}); COMP_CWORD=${at}; _latchkey; echo "\${COMPREPLY[@]}"`],
      { encoding: 'utf8' },
    ).trim()
  expect(asked('latchkey rel', 1)).toBe('release')
  expect(asked('latchkey release --fo', 2)).toBe('--force')
  expect(await run(['completion', 'csh'])).toMatchObject({ code: 2 })
})

test('transfer to a member that is not there fails with its code', async () => {
  expect(await run(['transfer', 'nobody', '--timeout', '300ms'])).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^latchkey: ERR_/),
  })
})

test('restore hands its words on', async () => {
  expect(
    (await run(['restore', 'f', '--id', 'a', '--dir', 'd', '--member', 'a=ws://127.0.0.1:7001'])).code,
  ).toBe(0)
  expect(restored).toEqual([
    { path: 'f', id: 'a', dir: 'd', members: { a: 'ws://127.0.0.1:7001' }, cluster: undefined },
  ])
})

test('recover does nothing before it is told that writes may be lost, and says what is lost and what comes next', async () => {
  expect(await run(['recover', 'f', '--dir', 'd'])).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/majority for good.*Nothing was done.*--writes-may-be-lost/),
  })
  expect(recovered).toEqual([])
  const done = await run(['recover', 'f', '--dir', 'd', '--writes-may-be-lost'])
  expect(done).toMatchObject({ code: 0, err: '' })
  expect(recovered).toEqual([{ path: 'f', dir: 'd', overwrite: false }])
  expect(done.out).toMatch(/term 3, index 1042; 17 of its entries/)
  expect(done.out).toMatch(/LOST: every write after index 1042/)
  expect(done.out).toMatch(/old members \(b, c, and this one\) must never start again/)
  expect(done.out).toMatch(/longest lease[^]*latchkey restore f /)
  const json = await run(['recover', 'f', '--dir', 'd', '--writes-may-be-lost', '--force', '--json'])
  expect(JSON.parse(json.out)).toMatchObject({ file: 'f', id: 'a', term: 3, index: 1042, fromLog: 17 })
  expect(recovered.at(-1)).toMatchObject({ overwrite: true })
})

test('lock holds the lock while the command runs, and leaves it free', async () => {
  const script = 'test "$LATCHKEY_LOCK_TOKEN" -gt 0'
  expect(
    (await run(['lock', 'nightly', '--', 'sh', '-c', script], { env: { PATH: process.env.PATH ?? '' } }))
      .code,
  ).toBe(0)
  expect(await store.locks.query('nightly')).toEqual([])
  await using hold = await store.locks.acquire('nightly')
  expect((await run(['lock', 'nightly', '--wait', '50ms', '--', 'true'])).code).toBe(75)
  expect((await run(['lock', 'nightly', '--wait', '0', '--', 'true'])).code).toBe(75)
  expect(hold.held).toBe(true)
})

test('bench measures each load, shows errors, and cleans up', async () => {
  // Longer than a disk or a machine that others use too may stand still.
  const { code, out } = await run(['bench', '--seconds', '3', '--callers', '4', '--json'])
  expect(code).toBe(0)
  const found = JSON.parse(out) as { name: string; samples: number; errors: number }[]
  expect(found.map(({ name }) => name)).toEqual(['lock and release', 'put 256 B', 'get'])
  for (const { samples, errors } of found) expect([samples > 0, errors]).toEqual([true, 0])
  expect(await store.scan()).toEqual([])
})

test('bench against a cluster without a leader measures nothing: 69 after --timeout', async () => {
  const asked: unknown[] = []
  const nobody = async (...args: unknown[]) => {
    asked.push(args[2])
    throw new LatchkeyError('ERR_NO_LEADER')
  }
  const connect = () =>
    new Proxy(kept(), { get: (to, name) => (name === 'deleteRange' ? nobody : Reflect.get(to, name)) })
  const { code, out } = await run(['bench', '--timeout', '300ms'], { connect })
  expect([code, out, asked]).toEqual([69, '', [expect.objectContaining({ timeout: 300 })]])
})
