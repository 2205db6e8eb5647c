// Test: store.metrics() on every kind of store.

import { expect, test } from 'vitest'
import { onEveryStore } from './testing/every-store.js'
import { unlessStalled, until } from './testing/small-test-functions.js'

/** Each has few values, whatever clients send; members are as many as the cluster has. */
const LABELS = 'member version node door kind code reason outcome direction level le'.split(' ')

onEveryStore((at) => {
  test('metrics: requests, answers and durations are counted, refusals by their code', async () => {
    const valueOf = async (name: string, labels: Record<string, string>) => {
      const rows = (await at.store.metrics()).flatMap(({ values, name: of }) =>
        values.map((row) => ({ ...row, of: row.metricName ?? of })),
      )
      return rows
        .filter(
          (row) => row.of === name && Object.entries(labels).every(([label, is]) => row.labels[label] === is),
        )
        .reduce((sum, { value }) => sum + value, 0)
    }
    const key = at.key()
    const shown = () =>
      Promise.all([
        valueOf('latchkey_requests_total', { kind: 'put' }),
        valueOf('latchkey_answers_total', { code: 'ERR_FENCED' }),
        valueOf('latchkey_answers_total', { code: 'ok' }),
        valueOf('latchkey_request_duration_seconds_count', { kind: 'write' }),
      ])
    const before = await shown()
    for (let i = 0; i < 40; i++) await at.store.put(key, 'v')
    const guard = { key: at.key(), token: 7 }
    await expect(at.store.put(key, 'v', { guard })).rejects.toMatchObject({ code: 'ERR_FENCED' })
    const after = await shown()
    const grown = after.map((value, i) => value - (before[i] ?? 0))
    expect(grown[0]).toBeGreaterThanOrEqual(41)
    expect(grown[1]).toBe(1)
    expect(grown[2]).toBeGreaterThanOrEqual(40)
    expect(grown[3]).toBeGreaterThanOrEqual(2)
  })

  test('metrics: name, help, type and values of the member that is asked', async () => {
    await at.store.put(at.key(), 'v')
    const metrics = await at.store.metrics()
    for (const { name, help, type, values } of metrics) {
      expect(name).toMatch(/^latchkey_[a-z_]+$/)
      expect(help).not.toBe('')
      expect(['gauge', 'counter', 'histogram']).toContain(type)
      expect(type === 'counter').toBe(name.endsWith('_total'))
      for (const { labels, value, metricName } of values) {
        for (const label of Object.keys(labels)) expect(LABELS).toContain(label)
        expect(metricName === undefined).toBe(type !== 'histogram')
        expect(Number.isFinite(value)).toBe(true)
      }
    }
    const valuesOf = (name: string) => metrics.find((metric) => metric.name === name)?.values
    expect(valuesOf('latchkey_has_leader')).toEqual([{ labels: {}, value: 1 }])
    expect(valuesOf('latchkey_revision')?.[0]?.value).toBeGreaterThan(0)
    expect(valuesOf('latchkey_sessions')?.[0]?.value).toBeGreaterThan(0)
    expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length)
  })

  test('metrics: who leads and which members are alive, as the status says', async () => {
    const shown = async () => {
      const metrics = await at.store.metrics()
      return ['latchkey_leader', 'latchkey_member_alive'].map(
        (name) => metrics.find((metric) => metric.name === name)?.values,
      )
    }
    const told = async () => {
      const { role, members } = await at.store.status()
      return [
        [{ labels: {}, value: Number(role === 'leader') }],
        members.map(({ id, alive }) => ({ labels: { member: id }, value: Number(alive) })),
      ]
    }
    // The leader may change between two calls, or a connection may break.
    await unlessStalled(200, async () => expect(await shown()).toEqual(await told()))
  })

  test('metrics: who has waited longest, what was ended by force, and through which door calls came', async () => {
    const [key, unheld] = [at.key(), at.key()]
    const rowsOf = async (name: string) =>
      (await at.store.metrics()).find((metric) => metric.name === name)?.values ?? []
    const valueOf = async (name: string, kind: string) =>
      (await rowsOf(name)).find(({ labels }) => labels['kind'] === kind)?.value ?? Number.NaN
    const taken = await valueOf('latchkey_taken_total', 'lock')
    const hold = await at.store.locks.acquire(key, { lease: '10m' })
    // A follower may still have to apply the end of an earlier wait.
    await expect.poll(() => valueOf('latchkey_longest_wait_seconds', 'lock')).toBe(0)
    const waiting = at.store.locks.acquire(key, { wait: '60s' })
    await expect
      .poll(async () => {
        // Cluster time goes on with what is applied.
        await at.store.put(unheld, 'v')
        return valueOf('latchkey_longest_wait_seconds', 'lock')
      })
      .toBeGreaterThan(0)
    expect(await at.store.locks.forceRelease(key, hold.token)).toBe(true)
    await (await waiting).release()
    // Only what is applied at this member counts here.
    await expect.poll(() => valueOf('latchkey_taken_total', 'lock')).toBe(taken + 1)
    await expect.poll(() => valueOf('latchkey_longest_wait_seconds', 'lock')).toBe(0)
    const doors = (await rowsOf('latchkey_requests_total'))
      .filter(({ labels, value }) => labels['kind'] === 'put' && value > 0)
      .map(({ labels }) => labels['door'])
    expect(doors.length).toBeGreaterThan(0)
    for (const door of doors) expect(['websocket', 'process', 'member']).toContain(door)
  })

  test('metrics: the calls of this store that wait, and the holds that it has lost', async () => {
    const counted = async () => {
      const metrics = await at.store.metrics()
      const valueOf = (name: string) => metrics.find((metric) => metric.name === name)?.values[0]?.value ?? -1
      return [valueOf('latchkey_store_waiting'), valueOf('latchkey_store_lost_holds_total')] as const
    }
    const [waiting, lost] = await counted()
    const [lock, set, latch] = [at.key('lock'), at.key('set'), at.key('latch')]
    await at.store.latches.create(latch, 1)
    const holds = [await at.store.locks.acquire(lock), await at.store.locks.acquire(set)]
    const waits = [
      at.store.locks.acquire(lock, { wait: '20s' }),
      at.store.locks.acquireAll([set, at.key('free')], { wait: '20s' }),
      at.store.latches.wait(latch),
    ] as const
    await until(async () => (await counted())[0] === waiting + 3)
    for (const hold of holds) await hold.release()
    await at.store.latches.countDown(latch)
    const [first, second] = await Promise.all(waits)
    expect(await counted()).toEqual([waiting, lost])
    await Promise.all([first.release(), second.release()])
    const short = await at.store.locks.acquire(lock, { lease: 100, renew: false })
    await until(() => !short.held)
    await expect.poll(counted).toEqual([waiting, lost + 1])
  })

  test('metrics: a signal, a timeout, an unknown option', async () => {
    await expect(at.store.metrics({ signal: AbortSignal.abort('why') })).rejects.toMatchObject({
      code: 'ERR_ABORTED',
      cause: 'why',
    })
    await expect(at.store.metrics({ timeot: 5 } as never)).rejects.toThrow('did you mean "timeout"?')
    expect((await at.store.metrics({ timeout: '5s' })).length).toBeGreaterThan(10)
  })
})
