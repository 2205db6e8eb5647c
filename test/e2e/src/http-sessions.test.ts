// Test: a session of an HTTP connection ends with its script, against three real members.

import { spawn } from 'node:child_process'
import { connect as connectSocket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { CommandRun } from '@latchkey/test-chaos/command'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

const SCRIPT = fileURLToPath(new URL('../../../examples/http_session.py', import.meta.url))
const KEY = 'nightly%2Freport'

let cluster: Cluster
const scripts: CommandRun[] = []
beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())
afterEach(() => {
  for (const { child } of scripts.splice(0)) child.kill('SIGKILL')
})

const urlOf = (member: number) => cluster.members[member]?.http as string

function script(member: number, seconds: number): CommandRun {
  const env = { ...process.env, WORK_SECONDS: String(seconds) }
  const run = new CommandRun(spawn('python3', [SCRIPT, urlOf(member)], { env }))
  scripts.push(run)
  return run
}

const says = (run: CommandRun, text: string) =>
  until(`${text} in: ${run.out}${run.err}`, () => run.out.includes(text))

async function post(member: number, path: string, body: object) {
  const init = { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${urlOf(member)}/v1/${path}`, init)
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

interface Row {
  readonly key: string
  readonly queue: readonly object[]
}
const waiting = async () => {
  const answer = await fetch(`${urlOf(0)}/v1/locks?prefix=nightly/`)
  return ((await answer.json()) as { locks: Row[] }).locks[0]?.queue.length
}

async function acquireAndRelease(id: string): Promise<void> {
  const got = await post(2, `locks/${KEY}:acquire`, { id, lease: '1m', wait: '1m' })
  expect(got.status, JSON.stringify(got.body)).toBe(200)
  const { fencingToken } = got.body
  expect((await post(2, `locks/${KEY}:release`, { id, fencingToken })).status).toBe(200)
}

test('C74: a script is killed while it holds a lock for an hour: the next one has it at once', async () => {
  const killed = script(1, 600)
  await says(killed, 'acquired')
  const next = acquireAndRelease('next')
  await until('it waits', async () => (await waiting()) === 1)
  killed.child.kill('SIGKILL')
  await next
})

test('C74: a script is killed while it waits: it leaves the queue, and no later one waits for it', async () => {
  const first = script(1, 600)
  await says(first, 'acquired')
  const second = script(0, 600)
  await until('it waits', async () => (await waiting()) === 1)
  second.child.kill('SIGKILL')
  await until('nobody waits', async () => (await waiting()) === 0)
  first.child.kill('SIGKILL')
  await acquireAndRelease('third')
})

test('a script that ends by itself releases its lock too', async () => {
  const run = script(1, 0)
  expect((await run.ended).code).toBe(0)
  expect(run.out).toMatch(/^acquired, token \d+\ndone\n$/)
  await acquireAndRelease('after')
})

/** Opens a session. The answer must stay open, because the session ends with it. */
async function opened(member: number) {
  const response = await fetch(`${urlOf(member)}/v1/sessions`, { method: 'POST' })
  const reader = response.body?.getReader()
  const first = await reader?.read()
  const session = /"id":"([0-9a-f]{32})"/.exec(Buffer.from(first?.value ?? []).toString())?.[1]
  return { session, close: () => reader?.cancel().catch(() => {}) }
}

/** The number of a member that does not lead, and that of another member. */
const follower = () =>
  until('a follower', async () => {
    const all = await Promise.all(cluster.members.map((member) => member.status()))
    const at = all.findIndex((status) => status?.role === 'follower')
    return at < 0 ? undefined : { at, other: (at + 1) % 3 }
  })

test('C75: a member stops: its script keeps the hold and its token in a session at another member', async () => {
  const { at, other } = await follower()
  const first = await opened(at)
  const ask = { id: 'me', lease: '1h' }
  const held = await post(at, 'locks/moves:acquire', { ...ask, session: first.session })
  expect(held.status).toBe(200)
  expect(await post(other, 'locks/moves:acquire', { ...ask, session: first.session })).toMatchObject({
    status: 404,
  })
  expect(await cluster.members[at]?.stop()).toBe(0)
  const second = await opened(other)
  const again = await post(other, 'locks/moves:acquire', { ...ask, session: second.session })
  expect(again).toMatchObject({ status: 200, body: { fencingToken: held.body.fencingToken } })
  await second.close()
  expect(await post(other, 'locks/moves:acquire', { id: 'next', wait: '1m' })).toMatchObject({ status: 200 })
  await first.close()
  cluster.members[at]?.start()
  await cluster.ready()
})

test('a member dies: the holds of its sessions end with their leases', async () => {
  const { at, other } = await follower()
  const { session, close } = await opened(at)
  const sent = performance.now()
  const held = await post(at, 'locks/dies:acquire', { id: 'me', lease: '3s', session })
  expect(held.status).toBe(200)
  await cluster.members[at]?.kill()
  expect(await post(other, 'locks/dies:acquire', { id: 'next', wait: '1m' })).toMatchObject({ status: 200 })
  expect(performance.now() - sent).toBeGreaterThan(2_900)
  await close()
  cluster.members[at]?.start()
  await cluster.ready()
})

test('hundreds of sessions that are opened and cut off in the middle leave nothing behind', async () => {
  const { hostname, port } = new URL(urlOf(0))
  const head = 'POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-length: '
  const cut = Array.from(
    { length: 800 },
    (_, n) =>
      new Promise<void>((resolve) => {
        const socket = connectSocket(Number(port), hostname)
        socket.on('error', () => {})
        socket.on('close', () => resolve())
        // Whole requests, bodies that never come, and heads that never end.
        socket.write(n % 3 === 2 ? head : `${head}${n % 3}\r\n\r\n`)
        socket.once('data', () => socket.resetAndDestroy())
        if (n % 3 > 0) socket.once('connect', () => socket.destroy())
      }),
  )
  await Promise.all(cut)
  // More than 500 were opened: if the cut ones were still there, this one would be refused.
  for (let n = 0; n < 300; n++) {
    // The member may accept a new connection before it sees the ends of others.
    await until('a session', async () => {
      const response = await fetch(`${urlOf(0)}/v1/sessions`, { method: 'POST' })
      await response.body?.cancel()
      return response.status === 200
    })
  }
})
