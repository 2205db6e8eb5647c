// Test: each example does what it promises: several processes with three real members, some of which are
// killed or paused.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { connect } from '@latchkey/client'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { type CommandRun, nodeProcess } from '@latchkey/test-chaos/command'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { activeMillis } from '../../../packages/latchkey/src/contract/testing/small-test-functions.js'
import { toldByOtherLanguage } from './actors/other-language.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))
const started: CommandRun[] = []
let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())
afterEach(() => {
  for (const { child } of started.splice(0)) child.kill('SIGKILL')
})

/** One process of an example. */
function example(file: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const process = nodeProcess([`${root}examples/${file}`, ...args, ...cluster.urls], env)
  started.push(process)
  return process
}
const says = (process: CommandRun, text: string | RegExp) =>
  until(`${String(text)} in: ${process.out}${process.err}`, () => process.out.match(text) ?? undefined)
/** What they print together, when all have ended by themselves. */
async function outOf(processes: readonly CommandRun[]): Promise<string> {
  const all = await Promise.all(processes.map(({ ended }) => ended))
  expect(all.map(({ code, err }) => [code, err])).toEqual(all.map(() => [0, '']))
  return all.map(({ out }) => out).join('')
}
const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0
const store = () => connect(cluster.urls, { as: 'string' })

test('cron once: four workers, one writes the report', async () => {
  const out = await outOf(Array.from({ length: 4 }, () => example('cron-once.mjs', [], { MINUTE: 'm1' })))
  expect(count(out, /writes the report/g)).toBe(1)
  expect(count(out, /was written by process \d+/g)).toBe(3)
})

test('cron once: the worker is killed while it writes: another one writes the report', async () => {
  const killed = example('cron-once.mjs', [], { MINUTE: 'm2', WORK_MS: '600000' })
  await says(killed, 'writes the report')
  const others = [1, 2].map(() => example('cron-once.mjs', [], { MINUTE: 'm2' }))
  killed.child.kill('SIGKILL')
  const out = await outOf(others)
  expect(count(out, /writes the report/g)).toBe(1)
  expect(count(out, /was written by process \d+/g)).toBe(1)
})

test('a payment callback reaches two servers six times: charged once; while another one works on it: come again', async () => {
  const servers = [1, 2].map(() => example('payment-callback.mjs', [], { PORT: '0' }))
  const ports = await Promise.all(servers.map(async (server) => (await says(server, /on (\d+)/))[1]))
  const call = async (order: string, i: number) => {
    const answer = await fetch(`http://127.0.0.1:${ports[i % 2]}/orders/${order}`, { method: 'POST' })
    return { status: answer.status, after: answer.headers.get('retry-after'), text: await answer.text() }
  }
  /** Like a payment provider: it calls again if it is told to. */
  const callUntilDone = async (order: string, i: number) =>
    until(`order ${order}`, async () => {
      const answer = await call(order, i)
      return answer.status !== 503 && answer
    })
  const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => callUntilDone('42', i)))
  expect(answers.map(({ text }) => text).toSorted()).toEqual([
    'charged\n',
    ...Array.from({ length: 5 }, () => 'charged already\n'),
  ])
  expect(count(servers.map(({ out }) => out).join(''), /charges order 42/g)).toBe(1)

  const remote = await store()
  await remote.locks.acquire('orders/43', { lease: '1m' })
  await expect.poll(() => call('43', 0)).toEqual({ status: 503, after: '1', text: 'ERR_TIMEOUT\n' })
  await remote.close()
  for (const { child } of servers) child.kill('SIGTERM')
  expect(await outOf(servers)).not.toContain('charges order 43')
})

test('job workers: a long job stays with its worker; one that stands still loses its job, and nothing is done twice', async () => {
  const remote = await store()
  await remote.put('jobs/1', 'a mail')
  // Longer than the lease of 8 s: the watchdog renews it.
  const workers = ['ann', 'bob'].map((name) => example('job-worker.mjs', [name], { WORK_MS: '9000' }))
  const at = (job: string) => until(job, () => workers.find(({ out }) => out.includes(`works on ${job}`)))
  await says(await at('jobs/1'), 'has done jobs/1')
  expect(workers.filter(({ out }) => out.includes('jobs/1'))).toHaveLength(1)

  await remote.put('jobs/2', 'a mail')
  const paused = await at('jobs/2')
  paused.child.kill('SIGSTOP')
  const [other] = workers.filter((worker) => worker !== paused) as [CommandRun]
  await says(other, 'has done jobs/2')
  paused.child.kill('SIGCONT')
  await says(paused, /gives jobs\/2 up: ERR_(LOCK_LOST|FENCED)/)
  for (const { child } of workers) child.kill('SIGTERM')
  expect(count(await outOf(workers), /has done/g)).toBe(2)
  expect(await remote.scan({ prefix: 'jobs/' })).toEqual([])
  expect((await remote.scan({ prefix: 'done/' })).map(({ value }) => value)).toEqual(['1', '1'])
  await remote.close()
})

test('leader among workers: killed, the next leads after the lease; stopped in peace, the next leads at once', async () => {
  const workers = ['ann', 'bob', 'cem'].map((name) => example('leader-among-workers.mjs', [name]))
  const remote = await store()
  const terms: number[] = []
  const alive = ({ child }: CommandRun) => child.exitCode === null && child.signalCode === null
  const term = ({ out }: CommandRun) => Number(/leads, term (\d+)\n$/.exec(out)?.[1] ?? 0)
  const next = async (waiters: number) => {
    const leader = await until('one leads', () => workers.find((worker) => alive(worker) && term(worker) > 0))
    await until(
      'the others wait',
      async () => (await remote.locks.query('jobs/leader'))[0]?.waiters === waiters,
    )
    expect(workers.filter((worker) => alive(worker) && term(worker) > 0)).toEqual([leader])
    terms.push(term(leader))
    return leader
  }
  const first = await next(2)
  first.child.kill('SIGKILL')
  await first.ended
  const second = await next(1)
  let third = second
  const took = await activeMillis(async () => {
    second.child.kill('SIGTERM')
    expect((await second.ended).out).toMatch(/leads no more\n$/)
    third = await next(0)
  })
  // The lease is 5 s: nobody waited for its end.
  expect(took).toBeLessThan(4_000)
  expect(terms).toEqual(terms.toSorted((a, b) => a - b))
  expect(new Set(terms).size).toBe(3)
  third.child.kill('SIGTERM')
  expect((await third.ended).code).toBe(0)
  await remote.close()
})

test('configuration is followed in order while the leader of the cluster is killed, and a typing error stops nobody', async () => {
  const remote = await store()
  await remote.put('config/limit', '10')
  const follower = example('config-watch.mjs')
  await says(follower, 'in force: {"config/limit":10}')
  await remote.put('config/limit', '20')
  const leader = await cluster.leader()
  await leader.kill()
  await remote.put('config/dark', 'true', { timeout: '20s' })
  await remote.put('config/limit', 'twenty', { timeout: '20s' })
  await remote.delete('config/dark', { timeout: '20s' })
  await says(follower, 'config/dark is gone')
  leader.start()
  await cluster.ready()
  follower.child.kill('SIGTERM')
  expect((await outOf([follower])).trim().split('\n')).toEqual([
    'in force: {"config/limit":10}',
    'config/limit is 20',
    'config/dark is true',
    'config/limit is no JSON, the old value stays',
    'config/limit is 20',
    'config/dark is gone',
  ])
  await remote.close()
})

test('stock: three shops sell 25 apples and not one more; a counting that fell asleep writes nothing', async () => {
  const remote = await store()
  await remote.put('stock/apples', '25')
  const shops = ['s1', 's2', 's3']
  const out = await outOf(shops.map((shop) => example('stock-reservation.mjs', [shop])))
  const sold = [...out.matchAll(/sold (\d+)/g)].map((match) => Number(match[1]))
  expect(sold.reduce((sum, number) => sum + number, 0)).toBe(25)
  expect(await remote.get('stock/apples')).toBe('0')
  const booked = await remote.scan({ prefix: 'reserved/apples/' })
  expect(booked.reduce((sum, { value }) => sum + Number(value), 0)).toBe(25)

  const asleep = example('stock-reservation.mjs', ['count'], { COUNTED: '99', WORK_MS: '300' })
  await says(asleep, 'counts')
  asleep.child.kill('SIGSTOP')
  expect(await outOf([example('stock-reservation.mjs', ['count'], { COUNTED: '7' })])).toMatch(/\ncounted\n/)
  asleep.child.kill('SIGCONT')
  expect(await outOf([asleep])).toMatch(/not counted: ERR_(FENCED|LOCK_LOST)/)
  expect(await remote.get('stock/apples')).toBe('7')
  await remote.close()
})

test('a shell script under a lock', async () => {
  const env = {
    ...process.env,
    LATCHKEY: `${process.execPath} ${root}packages/latchkey/bin/latchkey.js`,
    LATCHKEY_ENDPOINT: cluster.urls[0] as string,
  }
  const { stdout } = await run('bash', ['examples/under-a-lock.sh'], { cwd: root, env })
  expect(stdout).toMatch(/running alone, token \d+/)
})

test('Python through HTTP: list, transaction, watch, a lock that is waited for and renewed', async () => {
  const url = cluster.members[1]?.http as string
  const { stdout } = await run('python3', ['examples/http_store.py', url], { cwd: root })
  expect(stdout.toLowerCase()).toBe(toldByOtherLanguage('python'))
})

test('Python through HTTP', async () => {
  const { stdout } = await run('python3', ['examples/http_lock.py', cluster.members[1]?.http as string], {
    cwd: root,
  })
  expect(stdout).toMatch(/acquired, token \d+/)
  expect(stdout).toContain('another one is told 409 HELD')
  expect(stdout).toMatch(/guarded write 20\d/)
  expect(stdout).toContain('released 200')
})
