// Test: strangers send thousands of requests at once to each of three real members, again and again, while a
// client writes and keeps a lock of five seconds.

import { connect as dial, type Socket } from 'node:net'
import { connect, type Store } from '@latchkey/client'
import { ask } from '@latchkey/test-chaos/ask'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { unlessStalled } from '../../../packages/latchkey/src/contract/testing/small-test-functions.js'

/** Longer than the lease. */
const ATTACK_MS = 8_000
/** More than a put waits on a machine three times slower that stands still for a second. */
const LONGEST_PUT_MS = 4_000
const REDIAL_MS = 50

let cluster: Cluster
beforeAll(async () => {
  cluster = await Cluster.start()
})
afterAll(() => cluster.destroy())

const requests = (path: string, times: number) =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`.repeat(times)

/** Says it all at once, reads what it is answered, and comes again when its connection was closed. */
function attacker(port: number, words: string): () => void {
  let socket: Socket | undefined
  let redial: NodeJS.Timeout | undefined
  const come = () => {
    socket = dial(port, '127.0.0.1', () => void socket?.write(words))
    socket.on('error', () => {})
    socket.on('data', () => {})
    socket.on('close', () => {
      redial = setTimeout(come, REDIAL_MS)
    })
  }
  come()
  return () => {
    clearTimeout(redial)
    socket?.removeAllListeners('close').destroy()
  }
}

/** The longest of puts that follow one another. */
async function longestPut(store: Store, until: number): Promise<number> {
  let longest = 0
  for (let i = 0; performance.now() < until; i++) {
    const began = performance.now()
    await store.put('work', String(i), { timeout: '30s' })
    longest = Math.max(longest, performance.now() - began)
  }
  return longest
}

test('C43: no call fails, no put waits long, a lock of 5 s is kept, and nobody else leads', async () => {
  const [store, holder] = await Promise.all([connect(cluster.urls), connect(cluster.urls)])
  const livez = requests('/livez', 20_000)
  const metrics = requests('/metrics', 1_000)
  const attackers = cluster.members.flatMap(({ options: { port } }) =>
    [livez, livez, livez, livez, metrics].map((words) => attacker(port, words)),
  )
  try {
    await unlessStalled(500, async () => {
      const { term } = await store.status()
      const hold = await holder.locks.acquire('lock', { lease: '5s' })
      expect(await longestPut(store, performance.now() + ATTACK_MS)).toBeLessThan(LONGEST_PUT_MS)
      expect(hold.held).toBe(true)
      expect((await store.status()).term).toBe(term)
      await hold.release()
    })
    const answer = await ask(`${cluster.members[0]?.http}/livez`, { timeout: 10_000 })
    expect(answer?.status).toBe(200)
  } finally {
    for (const stop of attackers) stop()
  }
  const figures = await ask(`${cluster.members[0]?.http}/metrics`, { timeout: 10_000 })
  expect(figures?.body).toMatch(/latchkey_refused_total\{door="http",reason="pipelined"\} [1-9]/)
  await Promise.all([store.close(), holder.close()])
})
