// Test: each example runs as it stands, against real processes.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { afterAll, beforeAll, expect, test } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))
let cluster: Cluster

beforeAll(async () => {
  cluster = await Cluster.start()
}, 60_000)
afterAll(() => cluster.destroy())

const node = async (file: string) =>
  (await run(process.execPath, [`examples/${file}`, ...cluster.urls], { cwd: root })).stdout

test('a payment callback is handled once', async () => {
  const out = await node('payment-callback.mjs')
  expect(out).toContain('charged 1 time(s)')
  expect(out.match(/charged already/g)).toHaveLength(2)
})

test('a cron job runs once per cluster', async () => {
  const out = await node('cron-once.mjs')
  expect(out.match(/writes the report/g)).toHaveLength(1)
  expect(out.match(/has it/g)).toHaveLength(3)
})

test('one leader among workers, then the next', async () => {
  const out = await node('leader-among-workers.mjs')
  expect(out.match(/leads/g)).toHaveLength(3)
  const terms = [...out.matchAll(/term (\d+)/g)].map((match) => Number(match[1]))
  expect(terms).toEqual([...terms].sort((a, b) => a - b))
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

test('Python through HTTP', async () => {
  const { stdout } = await run('python3', ['examples/http_lock.py', cluster.members[1]?.http as string], {
    cwd: root,
  })
  expect(stdout).toMatch(/acquired, token \d+/)
  expect(stdout).toContain('another one is told 409 HELD')
  expect(stdout).toMatch(/guarded write 20\d/)
  expect(stdout).toContain('released 200')
})
