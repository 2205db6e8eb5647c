// Test: sessions of HTTP connections, with a real member in memory. Limits and races are tested with a manual
// clock.

import { ManualClock } from '@latchkey/raft/memory'
import { type Command, KIND, LatchkeyError, lockKeyOf, OP, type TicketArg } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { CallerSessions } from './sessions-of-open-http-requests.js'
import type { Call, Reply } from './http-route-dependencies.js'
import { routeAt } from './route-table.js'
import { eventsOf, type HeardEvent, httpMember, httpMemberOfFile } from './testing/http-member.js'

const LIMITED = { rights: ['read', 'write'] as const, keys: ['in/'], locks: ['in/'] }
const http = httpMemberOfFile({
  tokens: ['all', { token: 'some', ...LIMITED }, { token: 'reader', rights: ['read'] }],
})

const as = (token: string) => ({ authorization: `Bearer ${token}` })
const post = (path: string, body: object, token = 'all', member = http) =>
  member.send('POST', `/v1/${path}`, body, as(token))

interface Open {
  readonly id: string
  readonly events: AsyncGenerator<HeardEvent, undefined>
  hangUp(): void
}

async function opened(token = 'all', member = http): Promise<Open> {
  const gone = new AbortController()
  const init = { method: 'POST', headers: as(token), signal: gone.signal }
  const response = await member.call('/v1/sessions', init)
  expect(response.status).toBe(200)
  const events = eventsOf(response)
  const { value } = await events.next()
  expect(value).toMatchObject({ event: 'session', data: { id: expect.stringMatching(/^[0-9a-f]{32}$/) } })
  return { id: value?.data?.id as string, events, hangUp: () => gone.abort() }
}

const poll = (what: () => unknown) => expect.poll(what, { interval: 5 })
const waiters = async (key: string) => (await http.member.store.locks.query(key))[0]?.waiters
const holder = async (key: string) => (await http.member.store.locks.query(key))[0]?.id
const asked = { lease: '1h', wait: '1m' }
const NO_SESSION = {
  status: 404,
  body: { code: 'NOT_FOUND', message: expect.stringContaining('POST /v1/sessions') },
}

describe('C74: the end of the connection', () => {
  test('a lock, a set, permits and a leadership are released, long before their leases are over', async () => {
    const { id: session, hangUp } = await opened()
    const held = [
      await post('locks/in%2Fa:acquire', { id: 'first', lease: '1h', session }),
      await post('locks:acquireAll', { id: 'first', keys: ['in/b', 'in/c'], lease: '1h', session }),
      await post('semaphores/in%2Fs:acquire', { id: 'first', of: 1, lease: '1h', session }),
      await post('elections/in%2Fe:campaign', { id: 'first', lease: '1h', session }),
    ]
    expect(held.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const next = [
      post('locks/in%2Fa:acquire', { id: 'next', ...asked }),
      post('locks:acquireAll', { id: 'next', keys: ['in/b', 'in/c'], ...asked }),
      post('semaphores/in%2Fs:acquire', { id: 'next', of: 1, ...asked }),
      post('elections/in%2Fe:campaign', { id: 'next', ...asked }),
    ]
    await poll(() => waiters('in/a')).toBe(1)
    hangUp()
    expect((await Promise.all(next)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })

  test('a wait of the session ends and leaves the queue, although its own connection is open', async () => {
    await post('locks/w:acquire', { id: 'first', lease: '1h' })
    const { id: session, hangUp } = await opened()
    const waiting = post('locks/w:acquire', { id: 'second', ...asked, session })
    const ofSet = post('locks:acquireAll', { id: 'third', keys: ['w', 'w2'], ...asked, session })
    await poll(() => waiters('w')).toBe(2)
    hangUp()
    expect(await waiting).toMatchObject(NO_SESSION)
    expect(await ofSet).toMatchObject(NO_SESSION)
    await poll(() => waiters('w')).toBe(0)
  })

  test('what the caller released itself, and acquired anew without the session, stays held', async () => {
    const { id: session, hangUp } = await opened()
    const got = await post('locks/r:acquire', { id: 'one', lease: '1h', session })
    await post('locks:acquireAll', { id: 'one', keys: ['r2'], lease: '1h', session })
    await post('locks/marker:acquire', { id: 'one', lease: '1h', session })
    const { fencingToken } = got.body
    expect((await post('locks/r:release', { id: 'one', fencingToken })).status).toBe(200)
    expect((await post('locks:releaseAll', { id: 'one', keys: ['r2'] })).body).toMatchObject({ released: 1 })
    for (const key of ['r', 'r2']) await post(`locks/${key}:acquire`, { id: 'one', lease: '1h' })
    hangUp()
    // One command releases everything that the session held.
    await poll(() => holder('marker')).toBeUndefined()
    expect([await holder('r'), await holder('r2')]).toEqual(['one', 'one'])
  })

  test('a hold that another session acquired again belongs to that session', async () => {
    const [one, two] = [await opened(), await opened()]
    await post('locks/moved:acquire', { id: 'same', lease: '1h', session: one.id })
    await post('locks/first:acquire', { id: 'same', lease: '1h', session: one.id })
    expect((await post('locks/moved:acquire', { id: 'same', lease: '1h', session: two.id })).status).toBe(200)
    one.hangUp()
    await poll(() => holder('first')).toBeUndefined()
    expect(await holder('moved')).toBe('same')
    two.hangUp()
    await poll(() => holder('moved')).toBeUndefined()
  })
})

test('the session of another caller, one that ended, and one that never was look the same', async () => {
  const { id, hangUp } = await opened('some')
  const own = (session: unknown, token = 'some') => post('locks/in%2Fx:acquire', { id: 'me', session }, token)
  const foreign = await own(id, 'all')
  expect(foreign).toMatchObject(NO_SESSION)
  for (const session of ['', '0'.repeat(32), '__proto__', 'x'.repeat(10_000)])
    expect(await own(session)).toEqual(foreign)
  for (const session of [7, null, {}, []]) expect((await own(session)).status).toBe(400)
  expect((await own(id)).status).toBe(200)
  hangUp()
  await poll(async () => (await own(id)).status).toBe(404)
  expect(await own(id)).toEqual(foreign)
  expect(await holder('in/x')).toBeUndefined()
})

test('opening: the right to write, no other field, no query', async () => {
  expect((await post('sessions', {}, 'reader')).status).toBe(403)
  expect((await post('sessions', {}, 'nobody')).status).toBe(401)
  expect((await post('sessions', { context: 'x' })).status).toBe(400)
  expect((await post('sessions?timeout=1s', {})).status).toBe(400)
  expect((await http.send('POST', '/v1/sessions', 'x'.repeat(70_000), as('all'))).status).toBe(413)
})

test('the rights of an acquisition are those of the caller, also within its session', async () => {
  const { id: session, hangUp } = await opened('some')
  expect((await post('locks/out:acquire', { id: 'me', session }, 'some')).status).toBe(403)
  expect((await post('locks/in%2Fy:acquire', { id: 'me', session }, 'some')).status).toBe(200)
  hangUp()
  await poll(() => holder('in/y')).toBeUndefined()
})

test('a hold whose lease is over is told', async () => {
  const { id: session, events, hangUp } = await opened()
  await post('locks/over:acquire', { id: 'o', lease: '2s', session })
  expect(await events.next()).toMatchObject({ value: { event: 'lost', data: { key: 'over', id: 'o' } } })
  hangUp()
})

test('C75: a stop of the member ends the session and releases nothing', async () => {
  const own = await httpMember({ tokens: ['all'] })
  const { id: session, events } = await opened('all', own)
  expect((await post('locks/k:acquire', { id: 'me', lease: '1h', session }, 'all', own)).status).toBe(200)
  await own.member.store.locks.acquire('taken', { lease: '1h' })
  const waiting = post('locks/taken:acquire', { id: 'w', ...asked, session }, 'all', own)
  await poll(async () => (await own.member.store.locks.query('taken'))[0]?.waiters).toBe(1)
  const drained = own.requestHandler.drain(600_000)
  expect(await waiting).toMatchObject({ status: 503, body: { code: 'ERR_CLOSED' } })
  expect(await events.next()).toMatchObject({ value: { event: 'error', data: { code: 'ERR_CLOSED' } } })
  await drained
  // A release would have been sent before this write.
  await own.member.store.put('k', 'v')
  expect(await own.member.store.locks.query('k')).toMatchObject([{ id: 'me' }])
  await own.close()
})

test.each(['some', 'full'])('C75: a removed token (%s) ends its session and its watches', async (token) => {
  const own = await httpMember({ tokens: ['all', { token: 'some', ...LIMITED }, { token: 'full' }] })
  const { id: session, events } = await opened(token, own)
  await post('locks/in%2Fk:acquire', { id: 'me', lease: '1h', session }, token, own)
  const headers = { authorization: `Bearer ${token}` }
  const watch = eventsOf(await own.call('/v1/watch?prefix=in%2F', { headers }))
  expect(await watch.next()).toMatchObject({ value: { id: '0' } })
  own.member.reload({ auth: { tokens: ['all'] } })
  for (const stream of [events, watch])
    expect(await stream.next()).toMatchObject({ value: { event: 'error', data: { code: 'ERR_CLOSED' } } })
  // The lock stays held until its lease ends.
  expect(await own.member.store.locks.query('in/k')).toMatchObject([{ id: 'me' }])
  await own.close()
})

/** Sessions over a port that answers as the test says. */
function scene() {
  const clock = new ManualClock()
  const sent: Command[] = []
  let ids = 0
  const state = {
    answer: async (): Promise<unknown> => [1],
    read: async (): Promise<unknown> => ['unknown', null],
  }
  const lockPort = {
    clock,
    closed: new AbortController().signal,
    newId: () => `id-${(ids += 1)}`,
    command(command: Command) {
      sent.push(command)
      return { result: state.answer() }
    },
    read: () => state.read(),
  }
  const sessions = new CallerSessions()
  const call = (who: object) => {
    const gone = new AbortController()
    const route = routeAt('openSession')
    const parts = { by: { lockPort }, who, route, signal: gone.signal, body: async () => Buffer.from('') }
    return { gone, call: parts as unknown as Call }
  }
  const open = async (who: object) => {
    const { gone, call: request } = call(who)
    const { stream } = await sessions.open(request)
    const opening = await stream?.pieces.next()
    const id = /"id":"([^"]+)"/.exec(String(opening?.value))?.[1] as string
    return { id, next: () => stream?.pieces.next(), leave: () => gone.abort(new Error('gone')) }
  }
  const acquire = (who: object, session: string, tickets: readonly TicketArg[], run: () => Promise<Reply>) =>
    sessions.acquire(call(who).call, { session, lease: 10_000, tickets }, run)
  return { clock, sent, state, sessions, open, acquire }
}

const OK: Reply = { status: 200, body: {} }
const ticket = (n: number): TicketArg => [Buffer.from(`k${n}`), 'id']

describe('limits and races', () => {
  test('so many sessions of one caller and of all, and so many holds of a session', async () => {
    const { open, acquire } = scene()
    const [one, two, three] = [{}, {}, {}]
    const first = await open(one)
    for (let n = 1; n < 500; n++) await open(one)
    await expect(open(one)).rejects.toMatchObject({ code: 'ERR_BUSY' })
    for (let n = 0; n < 500; n++) await open(two)
    await expect(open(three)).rejects.toMatchObject({ code: 'ERR_BUSY' })
    first.leave()
    const third = await open(three)

    const get = (from: number, count: number, run = async () => OK) =>
      acquire(
        three,
        third.id,
        Array.from({ length: count }, (_, i) => ticket(from + i)),
        run,
      )
    await get(0, 64)
    let granted: (reply: Reply) => void = () => {}
    const underWay = get(64, 64, () => new Promise<Reply>((resolve) => (granted = resolve)))
    await expect(get(128, 1)).rejects.toMatchObject({ code: 'ERR_BUSY' })
    granted({ status: 409, body: {} })
    expect((await underWay).status).toBe(409)
    expect(await get(64, 64)).toBe(OK)
    await expect(get(128, 1)).rejects.toMatchObject({ code: 'ERR_BUSY' })
  })

  test('C74: a hold that is granted after the end of the session, or perhaps, is released', async () => {
    const { sent, open, acquire } = scene()
    const who = {}
    const late = [
      async () => OK,
      async (): Promise<Reply> => {
        throw new LatchkeyError('ERR_OUTCOME_UNKNOWN')
      },
    ]
    for (const [n, outcome] of late.entries()) {
      const { id, leave } = await open(who)
      const answer = acquire(who, id, [ticket(n)], async () => {
        leave()
        return outcome()
      })
      expect(await answer).toMatchObject(NO_SESSION)
      expect(sent.splice(0)).toEqual([[OP.releaseAll, [ticket(n)]]])
    }
  })

  test('a hold that perhaps exists is released with its session; one that was refused is not', async () => {
    const { sent, open, acquire } = scene()
    const who = {}
    const { id, leave } = await open(who)
    const failed = (code: 'ERR_OUTCOME_UNKNOWN' | 'ERR_TIMEOUT') => async (): Promise<Reply> => {
      throw new LatchkeyError(code)
    }
    await expect(acquire(who, id, [ticket(1)], failed('ERR_OUTCOME_UNKNOWN'))).rejects.toThrow()
    await expect(acquire(who, id, [ticket(2)], failed('ERR_TIMEOUT'))).rejects.toThrow()
    expect((await acquire(who, id, [ticket(3)], async () => ({ status: 409 }))).status).toBe(409)
    leave()
    expect(sent).toEqual([[OP.releaseAll, [ticket(1)]]])
  })

  test('C74: a failed release is tried again until the lease is over, and no longer', async () => {
    const { clock, sent, state, open, acquire } = scene()
    const who = {}
    const { id, leave } = await open(who)
    await acquire(who, id, [ticket(1)], async () => OK)
    state.answer = async () => {
      throw new LatchkeyError('ERR_NO_LEADER')
    }
    leave()
    for (let second = 0; second < 20; second++) {
      await new Promise((resolve) => setImmediate(resolve))
      clock.advance(1_000)
    }
    // One attempt each second of a lease of 10 s.
    expect(sent).toEqual(Array.from({ length: 10 }, () => [OP.releaseAll, [ticket(1)]]))
  })

  test('a hold that was renewed is told only when it is over; without an answer, the session asks again', async () => {
    const { clock, sent, state, open, acquire } = scene()
    const who = {}
    const { id, next, leave } = await open(who)
    await acquire(who, id, [[lockKeyOf(KIND.lock, Buffer.from('k')), 'me']], async () => OK)
    const told = next()
    const asked: number[] = []
    const answers = [['granted', ['me', 0, 5_000]], undefined, ['unknown', null]]
    state.read = async () => {
      asked.push(clock.now())
      const answer = answers.shift()
      if (answer === undefined) throw new LatchkeyError('ERR_NO_LEADER')
      return answer
    }
    const began = clock.now()
    for (let second = 0; second < 20; second++) {
      clock.advance(1_000)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(asked.map((at) => at - began)).toEqual([10_000, 15_000, 16_000])
    expect((await told)?.value).toBe('event: lost\ndata: {"key":"k","id":"me"}\n\n')
    // The hold that is over no longer belongs to the session, whose end releases nothing.
    leave()
    expect(sent).toEqual([])
  })
})
