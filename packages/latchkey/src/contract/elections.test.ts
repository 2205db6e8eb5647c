// Test: docs/elections.md: campaign, proclaim, resign, leader and observe, on every kind of store.

import type { LockPort } from '@latchkey/lock'
import { KIND, lockKeyOf, type LockInfoResult, READ } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { type ElectionEvent, Leadership, type Store } from '../index.js'
import { onEveryStore } from './testing/every-store.js'
import { code, TOLD_WITHIN, unlessStalled, until, utf8 } from './testing/small-test-functions.js'

/** Reads an observer in the background. */
function observed(store: Store, name: string) {
  const abort = new AbortController()
  const seen: string[] = []
  const events: ElectionEvent[] = []
  const done = (async () => {
    for await (const event of store.elections.observe(name, { signal: abort.signal })) {
      events.push(event)
      const value = event.value === undefined ? '' : ` ${Buffer.from(event.value).toString()}`
      seen.push(`${event.type}${value}`)
    }
  })().catch(() => {})
  const end = () => {
    abort.abort()
    return done
  }
  return { seen, events, end }
}

onEveryStore((at) => {
  test('campaign: a leadership with token, value, signal, proclaim and resign; leader tells who leads', async () => {
    expect(await at.other.elections.leader(at.key())).toBeUndefined()
    const leadership = await at.store.elections.campaign(at.key(), { value: 'one', lease: '30s' })
    expect(leadership).toBeInstanceOf(Leadership)
    expect([leadership.name, leadership.value, leadership.held]).toEqual([at.key(), 'one', true])
    expect(await at.other.elections.leader(at.key())).toEqual({
      value: utf8('one'),
      token: leadership.token,
      id: expect.any(String),
    })
    await leadership.proclaim('two')
    expect(leadership.value).toBe('two')
    expect((await at.other.elections.leader(at.key()))?.value).toEqual(utf8('two'))
    await leadership.kv.put(at.key('a'), 'by the leader')
    await leadership.resign()
    await leadership.resign()
    expect(await at.other.elections.leader(at.key())).toBeUndefined()
    await expect(leadership.proclaim('three')).rejects.toMatchObject(code('ERR_NOT_OWNER'))
    await expect(leadership.kv.put(at.key('a'), 'late')).rejects.toMatchObject(code('ERR_FENCED'))
  })

  test('K65: a resigned leader hands over to the next candidate, in order, with a higher token and no vacancy', async () => {
    const first = await at.store.elections.campaign(at.key(), { value: 'one' })
    const watch = observed(at.other, at.key())
    await until(() => watch.seen.length === 1)
    const next = at.other.elections.campaign(at.key(), { value: 'two', wait: '20s' })
    await until(async () => (await queued(at.store, at.key())) === 1)
    await first.resign()
    await using second = await next
    expect(second.token).toBeGreaterThan(first.token)
    await until(() => watch.seen.length === 2)
    expect(watch.seen).toEqual(['elected one', 'elected two'])
    expect(watch.events.map(({ token }) => token)).toEqual([first.token, second.token])
    await watch.end()
  })

  test('K65: observe begins with what is, a vacancy too, and tells every change in order', async () => {
    const watch = observed(at.store, at.key())
    await until(() => watch.seen.length === 1)
    const leadership = await at.other.elections.campaign(at.key())
    await leadership.proclaim('here')
    await leadership.resign()
    const lapsing = await at.other.elections.campaign(at.key(), { value: 'again' })
    await lapsing.resign()
    await until(() => watch.seen.length === 6)
    expect(watch.seen).toEqual(['vacant', 'elected', 'proclaimed here', 'vacant', 'elected again', 'vacant'])
    expect(watch.events[3]).toMatchObject({ token: leadership.token, value: undefined })
    await watch.end()
  })

  test('K65: a proclaim of the present value is no change, so observers get no event', async () => {
    await using leadership = await at.store.elections.campaign(at.key(), { value: 'one' })
    const watch = observed(at.other, at.key())
    await until(() => watch.seen.length === 1)
    for (const value of ['one', 'two', 'two', 'three', utf8('three')]) await leadership.proclaim(value)
    await leadership.resign()
    await until(() => watch.seen.at(-1) === 'vacant')
    expect(watch.seen).toEqual(['elected one', 'proclaimed two', 'proclaimed three', 'vacant'])
    await watch.end()
  })

  test('a wait that is over is ERR_TIMEOUT with the leader as holder; an abort leaves the queue', async () => {
    await using leadership = await at.store.elections.campaign(at.key())
    await unlessStalled(TOLD_WITHIN, () =>
      expect(at.other.elections.campaign(at.key(), { wait: 50 })).rejects.toMatchObject(
        code('ERR_TIMEOUT', { holder: { fencingToken: leadership.token } }),
      ),
    )
    const abort = new AbortController()
    const candidate = at.other.elections.campaign(at.key(), { signal: abort.signal })
    await until(async () => (await queued(at.store, at.key())) === 1)
    abort.abort()
    await expect(candidate).rejects.toMatchObject(code('ERR_ABORTED'))
    await until(async () => (await queued(at.store, at.key())) === 0)
  })

  test('an election, a lock and a semaphore of one name have nothing to do with each other', async () => {
    await using leadership = await at.store.elections.campaign(at.key())
    await using lock = await at.store.locks.acquire(at.key())
    await using permit = await at.store.semaphores.acquire(at.key(), { of: 1 })
    expect([leadership.held, lock.held, permit.held]).toEqual([true, true, true])
    expect((await at.store.locks.query(at.key())).length).toBe(1)
  })

  test('SV1: below a prefix, an election has the whole name for everybody else', async () => {
    await using leadership = await at.store.sub(at.key('')).elections.campaign('x', { value: 'one' })
    expect((await at.other.elections.leader(at.key('x')))?.token).toBe(leadership.token)
    for await (const event of at.other.sub(at.key('')).elections.observe('x')) {
      expect(event).toMatchObject({ type: 'elected', value: utf8('one') })
      break
    }
    for await (const event of at.other.sub(at.key('')).elections.observe('y')) {
      expect(event.type).toBe('vacant')
      break
    }
  })

  test('mistakes are TypeErrors or ERR_TOO_LARGE, and nothing is sent', async () => {
    const campaign = (options: object) => at.store.elections.campaign(at.key(), options)
    await expect(campaign({ vlaue: 'x' })).rejects.toThrow(/unknown option "vlaue".*did you mean "value"/)
    await expect(campaign({ value: 7 })).rejects.toThrow(TypeError)
    await expect(campaign({ value: 'x'.repeat(4_097) })).rejects.toMatchObject(code('ERR_TOO_LARGE'))
    expect(() => at.store.elections.observe(at.key(), { form: 1 } as object)).toThrow(/unknown option/)
    expect(await at.store.elections.leader(at.key())).toBeUndefined()
  })

  test('K64: rotate gives a higher token while the lock is kept; the old one writes no more', async () => {
    await using hold = await at.store.locks.acquire(at.key(), { lease: '30s' })
    const old = hold.token
    const token = await hold.rotate()
    expect([token > old, hold.token === token, hold.held]).toEqual([true, true, true])
    await expect(
      at.store.put(at.key('a'), '1', { guard: { key: at.key(), token: old } }),
    ).rejects.toMatchObject(code('ERR_FENCED'))
    await hold.kv.put(at.key('a'), '2')
    await hold.release()
    await expect(hold.rotate()).rejects.toMatchObject(code('ERR_NOT_OWNER'))
    expect(await at.store.locks.query(at.key())).toEqual([])
  })

  test('K64: rotateEvery rotates again and again, and the lease is renewed as before', async () => {
    await unlessStalled(200, async () => {
      await using hold = await at.store.locks.acquire(at.key(), { lease: 600, rotateEvery: 100 })
      const first = hold.token
      // Seven rotations take longer than the lease.
      await until(() => hold.token > first + 6 || !hold.held)
      // A write whose token is rotated before the write is applied is refused.
      const put = () => hold.kv.put(at.key('a'), 'x')
      await until(() =>
        put().then(
          () => true,
          () => !hold.held,
        ),
      )
      expect(hold.held).toBe(true)
    })
    await expect(at.store.locks.acquire(at.key(), { rotateEvery: 1 })).rejects.toThrow(/rotateEvery must be/)
  })
})

/** How many candidates wait; elections have no list of their own. */
async function queued(store: Store, name: string): Promise<number> {
  const { lockPort } = store as unknown as { lockPort: LockPort }
  const key = lockKeyOf(KIND.election, utf8(name))
  const [row] = (await lockPort.read([READ.lockQuery, key, true, true])) as LockInfoResult[]
  return row?.[6] ?? 0
}
