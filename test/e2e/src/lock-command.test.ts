// Test: `latchkey lock` with real processes: a killed sidecar, a signal, a lost hold, and a command that
// fails.

import { connect, type Store } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { type CommandRun, latchkey } from '@latchkey/test-chaos/command'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'

let cluster: Cluster
let store: Store

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())
beforeEach(async () => {
  store = await connect(cluster.urls)
})
afterEach(() => store.close())

const lock = (key: string, options: readonly string[], ...command: readonly string[]) =>
  latchkey(['lock', key, ...options, '--', ...command], cluster.urls)
const shell = (script: string) => ['sh', '-c', script]
/** Says that it runs, then waits; `onTerm` is what it does when it is told to stop. */
const waiting = (onTerm: string) => shell(`trap '${onTerm}' TERM; echo up; while :; do sleep 0.02; done`)

const isUp = (run: CommandRun) => expect.poll(() => run.out).toBe('up\n')
const holder = async (key: string) => (await store.locks.query(key))[0]

describe('the exit code is the command’s own', () => {
  test.each([
    ['0', shell('exit 0'), 0],
    ['3', shell('exit 3'), 3],
    ['255', shell('exit 255'), 255],
    ['128 + n by a signal', shell('kill -KILL $$'), 137],
    ['127 where it is not found', ['no-such-command-anywhere'], 127],
    ['126 where it cannot run', ['/'], 126],
  ])('%s', async (_, command, code) => {
    expect((await lock('code', [], ...command).ended).code).toBe(code)
    expect(await holder('code')).toBeUndefined()
  })

  test('2 for a mistake, before anything is taken', async () => {
    expect((await latchkey(['lock', 'code'], cluster.urls).ended).code).toBe(2)
    expect((await lock('code', ['--lease', '0s'], 'true').ended).code).toBe(2)
  })
})

test('the command finds the token of its hold, and a second one finds the lock busy: 75', async () => {
  const first = lock('busy', ['--context', 'first'], ...shell('echo $LATCHKEY_LOCK_TOKEN; exec sleep 30'))
  await expect.poll(() => first.out).toMatch(/^\d+\n$/)
  expect(await holder('busy')).toMatchObject({ fencingToken: Number(first.out), context: 'first' })
  // Without a leader the code is 69.
  for (const wait of ['0', '200ms'])
    await expect.poll(async () => (await lock('busy', ['--wait', wait], 'true').ended).code).toBe(75)
  first.child.kill('SIGTERM')
  expect((await first.ended).code).toBe(143)
  expect(await holder('busy')).toBeUndefined()
})

test('its sidecar is killed: the command runs on under its hold, renewed through another', async () => {
  const leader = await cluster.leader()
  const run = lock('survives', ['--lease', '9s'], ...shell('echo up; sleep 10; exit 5'))
  await isUp(run)
  const token = (await holder('survives'))?.fencingToken
  await leader.kill()
  expect((await run.ended).code).toBe(5)
  expect(token).toBeGreaterThan(0)
  leader.start()
  await leader.ready()
  expect(await holder('survives')).toBeUndefined()
})

describe('signals', () => {
  test('SIGTERM and SIGINT go to the command, whose code counts', async () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const run = lock(
        'signal',
        [],
        ...shell('trap "exit 7" TERM INT; echo up; while :; do sleep 0.02; done'),
      )
      await isUp(run)
      run.child.kill(signal)
      expect((await run.ended).code).toBe(7)
    }
  })

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    '%s while it waits for the lock: %d, and the place in the queue is gone',
    async (signal, code) => {
      const hold = await store.locks.acquire('taken', { lease: '20s' })
      const run = lock('taken', [], 'true')
      await expect.poll(async () => (await holder('taken'))?.waiters).toBe(1)
      run.child.kill(signal)
      expect((await run.ended).code).toBe(code)
      await expect.poll(async () => (await holder('taken'))?.waiters).toBe(0)
      await hold.release()
    },
  )
})

describe('a lost hold', () => {
  /** On a machine so busy that the lease ran out by itself it is lost already. */
  const lose = async (key: string) => {
    const held = await holder(key)
    if (held !== undefined) await store.locks.forceRelease(key, held.fencingToken)
  }

  test('the command is told to stop, and the code is 75 whatever it says itself', async () => {
    const run = lock('lost', ['--lease', '3s'], ...waiting('echo told; exit 0'))
    await isUp(run)
    await lose('lost')
    expect(await run.ended).toMatchObject({ code: 75, out: 'up\ntold\n', err: expect.stringMatching(/lost/) })
  })

  test('one that does not stop is killed after --kill-after: 75', async () => {
    const run = lock('lost', ['--lease', '3s', '--kill-after', '300ms'], ...waiting(''))
    await isUp(run)
    await lose('lost')
    expect((await run.ended).code).toBe(75)
  })
})

test('nobody is reachable: 69', async () => {
  const away = latchkey(['lock', 'k', '--timeout', '300ms', '--', 'true'], ['ws://127.0.0.1:1'])
  expect((await away.ended).code).toBe(69)
})

test('all sidecars are killed: the hold ends with its lease, and so does the command: 75', async () => {
  const run = lock('alone', ['--lease', '3s'], ...waiting('exit 0'))
  await isUp(run)
  await Promise.all(cluster.members.map((member) => member.kill()))
  expect((await run.ended).code).toBe(75)
  for (const member of cluster.members) member.start()
  await cluster.ready()
})
