// Test: each kind of answer gives the caller the error or the result that docs/errors.md describes.

import { LatchkeyError, type LinkRequest, OP, decodeCommand, errorAnswer } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { NO_FAULTS } from '../testing/fake-cluster.js'
import { codeOf, follow, scene } from '../testing/stores-on-fake-cluster.js'

const outcomeOf = (seen: ReturnType<typeof follow>) =>
  seen.fate.is === 'failed' ? seen.fate.error.outcome : undefined
const opOf = (request: LinkRequest) =>
  request.kind === 'command' ? (decodeCommand(request.body) as readonly [number])[0] : 0

test('a write that was never handed on: ERR_NO_LEADER if none was known, else ERR_TIMEOUT, both not applied', async () => {
  const { world, cluster, store } = scene()
  cluster.elect(undefined)
  const client = store()
  const lost = follow(client.put('k', 'v', { timeout: 500 }))
  await world.run(499)
  expect(codeOf(lost)).toBe('pending')
  await world.run(10)
  expect([codeOf(lost), outcomeOf(lost)]).toEqual(['ERR_NO_LEADER', 'not-applied'])
  cluster.elect('a')
  cluster.faults = { ...NO_FAULTS, never: 1 }
  const refused = follow(client.put('k', 'v', { timeout: 500 }))
  await world.run(520)
  expect([codeOf(refused), outcomeOf(refused)]).toEqual(['ERR_TIMEOUT', 'not-applied'])
  expect(cluster.machine.data.size).toBe(0)
})

test('a missing leader is waited for until the deadline, not refused at once', async () => {
  const { world, cluster, store } = scene()
  cluster.elect(undefined)
  const client = store()
  const write = follow(client.put('k', 'v'))
  const read = follow(client.get('k'))
  world.after(3_000, () => cluster.elect('a'))
  await world.run(3_100)
  expect([codeOf(write), codeOf(read)]).toEqual(['ok', 'ok'])
})

test('C1: a write that was handed on and not answered: ERR_OUTCOME_UNKNOWN; a read: ERR_TIMEOUT', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  const first = follow(client.put('a', '1'))
  await world.run(100)
  expect(codeOf(first)).toBe('ok')
  cluster.mute = true
  const write = follow(client.put('k', 'v', { timeout: '300ms' }))
  await world.run(310)
  expect([codeOf(write), outcomeOf(write)]).toEqual(['ERR_OUTCOME_UNKNOWN', 'unknown'])
  cluster.elect(undefined)
  const read = follow(client.get('k', { timeout: 200 }))
  await world.run(210)
  expect([codeOf(read), outcomeOf(read)]).toEqual(['ERR_TIMEOUT', 'not-applied'])
})

test('R5: a read that its member cannot confirm is asked again, at leisure, until its deadline: ERR_TIMEOUT, and why', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  await world.run(100)
  cluster.page = () => errorAnswer('ERR_NO_LEADER')
  const read = follow(client.get('k'))
  await world.run(4_900)
  expect(codeOf(read)).toBe('pending')
  await world.run(200)
  expect([codeOf(read), outcomeOf(read)]).toEqual(['ERR_TIMEOUT', 'not-applied'])
  expect(read.fate).toMatchObject({ error: { cause: { code: 'ERR_NO_LEADER' } } })
  expect(cluster.requests.filter(({ kind }) => kind === 'read').length).toBeLessThan(60)
})

test('every read has the default deadline, though its member never says a word', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  await world.run(100)
  cluster.readDelay = 60_000
  const reads = [
    client.get('k'),
    client.getEntry('k'),
    client.multiGet(['k']),
    client.containsKey('k'),
    client.scan({ prefix: 'k' }),
    client.entries({}).next(),
    client.getLatestSequence('k'),
    client.locks.query(),
  ].map((read) => follow<unknown>(read))
  await world.run(5_100)
  expect(reads.map(codeOf)).toEqual(reads.map(() => 'ERR_TIMEOUT'))
})

test('a signal: before sending not applied, a write after sending unknown, and cause is its reason', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  const reason = new Error('no more')
  const early = follow(client.put('k', 'v', { signal: AbortSignal.abort(reason) }))
  await world.run(50)
  expect([codeOf(early), outcomeOf(early)]).toEqual(['ERR_ABORTED', 'not-applied'])
  cluster.mute = true
  await world.run(100)
  const stop = new AbortController()
  cluster.mute = false
  const warm = follow(client.put('a', '1'))
  await world.run(50)
  expect(codeOf(warm)).toBe('ok')
  cluster.mute = true
  const late = follow(client.put('k', 'v', { signal: stop.signal }))
  const read = follow(client.get('k', { signal: stop.signal }))
  stop.abort(reason)
  await world.run(1)
  expect([codeOf(late), outcomeOf(late)]).toEqual(['ERR_ABORTED', 'unknown'])
  expect(late.fate.is === 'failed' && late.fate.error.cause).toBe(reason)
  expect([codeOf(read), outcomeOf(read)]).toEqual(['ERR_ABORTED', 'not-applied'])
})

test('C9: close() ends pending calls with ERR_CLOSED, each once, and its outcome says what was sent', async () => {
  const { world, cluster, warmStore } = scene()
  const client = await warmStore()
  cluster.mute = true
  const sent = follow(client.put('k', 'v'))
  const read = follow(client.get('k'))
  const watch = follow(client.watch({ key: 'k' }).next())
  await world.run(1)
  cluster.elect(undefined)
  await world.run(1)
  const waiting = follow(client.put('k', 'w'))
  await client.close()
  await client.close()
  const late = follow(client.put('k', 'x'))
  await world.run(20_000)
  expect([codeOf(sent), outcomeOf(sent)]).toEqual(['ERR_CLOSED', 'unknown'])
  expect([codeOf(waiting), outcomeOf(waiting)]).toEqual(['ERR_CLOSED', 'not-applied'])
  expect([codeOf(read), codeOf(watch), codeOf(late)]).toEqual(['ERR_CLOSED', 'ERR_CLOSED', 'ERR_CLOSED'])
  for (const seen of [sent, waiting, read, watch, late]) expect(seen.told).toBe(1)
  expect(world.pending).toBe(0)
})

test('C4: a leader that lost track of a command is asked again with the same number and bytes', async () => {
  const { world, cluster, warmStore } = scene()
  const client = await warmStore()
  cluster.faults = { ...NO_FAULTS, unknownApplied: 1 }
  const seen = follow(client.merge('log', 'x'))
  await world.run(200)
  cluster.faults = { ...NO_FAULTS }
  await world.run(400)
  expect(codeOf(seen)).toBe('ok')
  expect(cluster.machine.data.get('log')).toBe('x')
  const asked = cluster.requests.filter((request) => opOf(request) === OP.merge)
  expect(asked.length).toBeGreaterThan(2)
  for (const request of asked) {
    expect(request).toMatchObject({ number: 2, session: (asked[0] as { session: number }).session })
    expect(request).toHaveProperty('body', (asked[0] as { body: Uint8Array }).body)
  }
  expect(new Set(asked.map((request) => (request as { id: number }).id)).size).toBe(asked.length)
})

test('a session that ended: what was sent in it is unknown and is not executed again, the rest goes on in a new one', async () => {
  const { world, cluster, store } = scene('over', ['a', 'b'])
  const client = store({ sessionLife: 1_000 })
  const warm = follow(client.merge('log', 'warm'))
  await world.run(100)
  expect(codeOf(warm)).toBe('ok')
  cluster.mute = true
  const sent = follow(client.merge('log', 'sent', { timeout: 60_000 }))
  await world.run(10)
  cluster.down.add('a').add('b')
  for (const link of [...cluster.links]) link.break()
  await world.run(5_000)
  const waiting = follow(client.merge('log', 'waiting', { timeout: 60_000 }))
  cluster.mute = false
  cluster.down.clear()
  // Time passes in the log.
  cluster.machine.apply(0, 0, 0, new Uint8Array(), world.now)
  await world.run(5_000)
  expect([codeOf(sent), outcomeOf(sent)]).toEqual(['ERR_OUTCOME_UNKNOWN', 'unknown'])
  expect(codeOf(waiting)).toBe('ok')
  expect(cluster.machine.data.get('log')).toBe('warm,sent,waiting')
})

test('a session that stood still for long is not trusted: the next call opens another, and nothing is unknown', async () => {
  const { world, cluster, store } = scene()
  const client = store({ sessionLife: 1_000 })
  for (let round = 0; round < 5; round++) {
    const seen = follow(client.merge('log', `${round}`))
    await world.run(60)
    expect(codeOf(seen)).toBe('ok')
    await world.run(round === 2 ? 500 : 5_000)
  }
  expect(cluster.machine.data.get('log')).toBe('0,1,2,3,4')
  const opened = cluster.requests.filter((request) => opOf(request) === OP.openSession)
  expect(opened.length).toBe(4)
  // It is no call of the session before it: it counts nothing there, and drops no answer of it.
  for (const request of opened) expect(request).toMatchObject({ session: 0, number: 0, done: 0 })
})

test('no session without need: reads and watches make none', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  const read = follow(client.get('k'))
  client.watch({ key: 'k' })
  await world.run(40_000)
  expect(codeOf(read)).toBe('ok')
  expect(cluster.requests.filter((request) => request.kind === 'command')).toEqual([])
})

test('C7: 100,000 outstanding writes: a bounded queue, and ERR_BUSY beyond', async () => {
  const { world, cluster, store } = scene()
  cluster.elect(undefined)
  const client = store()
  const all = Array.from({ length: 100_000 }, (_, at) => follow(client.put('k', `${at}`, { timeout: 1_000 })))
  await world.run(1)
  const busy = all.filter((seen) => codeOf(seen) === 'ERR_BUSY').length
  expect(busy).toBe(100_000 - 65_536)
  await world.run(1_010)
  expect(all.filter((seen) => codeOf(seen) === 'ERR_NO_LEADER').length).toBe(65_536)
  cluster.elect('a')
  const next = follow(client.put('k', 'v'))
  await world.run(100)
  expect(codeOf(next)).toBe('ok')
})

// Without it: a store without a leader keeps 65,536 values of a megabyte each, and the process dies before
// anybody leads.
test('C7: what waits for a leader is bounded in bytes too; what was given up or sent makes room', async () => {
  const { world, cluster, store } = scene()
  cluster.elect(undefined)
  const client = store()
  const value = new Uint8Array(1024 * 1024 - 1_024)
  const put = (timeout: number) => follow(client.put('k', value, { timeout }))
  const first = Array.from({ length: 64 }, () => put(1_000))
  const over = put(1_000)
  await world.run(1)
  expect(first.map(codeOf)).toEqual(first.map(() => 'pending'))
  expect([codeOf(over), outcomeOf(over)]).toEqual(['ERR_BUSY', 'not-applied'])
  const small = follow(client.put('k', 'v', { timeout: 900 }))
  await world.run(1_010)
  expect([codeOf(first[0] as typeof over), codeOf(small)]).toEqual(['ERR_NO_LEADER', 'ERR_NO_LEADER'])
  for (let round = 0; round < 2; round++) {
    const next = Array.from({ length: 64 }, () => put(60_000))
    const late = put(60_000)
    await world.run(1)
    expect([next.filter((one) => codeOf(one) === 'pending').length, codeOf(late)]).toEqual([64, 'ERR_BUSY'])
    cluster.elect('a')
    await world.run(500)
    expect(next.filter((one) => codeOf(one) === 'ok').length).toBe(64)
    cluster.elect(undefined)
    await world.run(10)
  }
})

test('the window of numbers: what finds no room waits, then ERR_BUSY', async () => {
  const { world, cluster, warmStore } = scene()
  const client = await warmStore()
  cluster.mute = true
  const sent = Array.from({ length: 1_500 }, () => follow(client.put('k', 'v', { timeout: 1_000 })))
  await world.run(1_010)
  const codes = sent.map(codeOf)
  expect(codes.filter((code) => code === 'ERR_OUTCOME_UNKNOWN').length).toBe(1_024)
  expect(codes.filter((code) => code === 'ERR_BUSY').length).toBe(1_500 - 1_024)
  cluster.mute = false
  for (const link of [...cluster.links]) link.break()
  const after = follow(client.put('k', 'w', { timeout: 2_000 }))
  await world.run(2_000)
  expect(codeOf(after)).toBe('ok')
  expect(cluster.machine.most).toBeLessThanOrEqual(1_024)
})

test('C1: too much at a later attempt says nothing of an earlier one that is still on its way', async () => {
  const { world, cluster, warmStore } = scene('busy')
  const client = await warmStore()
  cluster.faults = { ...NO_FAULTS, late: 1 }
  const seen = follow(client.merge('log', 'late'))
  await world.run(4)
  cluster.faults = { ...NO_FAULTS }
  cluster.busy = true
  await world.run(5_010)
  expect([codeOf(seen), outcomeOf(seen)]).toEqual(['ERR_OUTCOME_UNKNOWN', 'unknown'])
  cluster.busy = false
})

test('a session that is full: the call waits, the same number goes when there is room, ERR_BUSY at its deadline', async () => {
  const { world, cluster, store } = scene('full')
  const client = store()
  const warm = follow(client.merge('log', 'warm'))
  await world.run(50)
  cluster.busy = true
  const plain = follow(client.merge('log', 'never', { timeout: 1_000 }))
  const patient = follow(client.merge('log', 'more'))
  await world.run(1_010)
  expect([codeOf(warm), codeOf(plain), outcomeOf(plain)]).toEqual(['ok', 'ERR_BUSY', 'not-applied'])
  cluster.busy = false
  await world.run(1_000)
  expect(codeOf(patient)).toBe('ok')
  expect(cluster.machine.data.get('log')).toBe('warm,more')
})

test('a member that refuses for good ends the call with its reason', async () => {
  const { world, cluster, store } = scene()
  const client = store()
  const fenced = follow(client.compareAndPut('k', undefined, 'v'))
  await world.run(50)
  expect([codeOf(fenced), outcomeOf(fenced)]).toEqual(['ERR_FENCED', 'not-applied'])
  cluster.refusal = new LatchkeyError('ERR_STORAGE_FAILED', undefined, { retryable: false })
  for (const link of [...cluster.links]) link.break()
  const barred = follow(client.put('k', 'v'))
  await world.run(500)
  expect(codeOf(barred)).toBe('ERR_STORAGE_FAILED')
  const next = follow(client.get('k'))
  await world.run(1)
  expect(codeOf(next)).toBe('ERR_STORAGE_FAILED')
  cluster.refusal = undefined
  await world.run(3_000)
  const healed = follow(client.get('k'))
  await world.run(50)
  expect(codeOf(healed)).toBe('ok')
})
