// Test: what the alerts and the dashboard of deploy/ name, and what docs/metrics.md tells of, is shown by live members
// under load; and what members show stands in docs/metrics.md.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { connect } from '@latchkey/client'
import { ask } from '@latchkey/test-chaos/ask'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { afterAll, beforeAll, expect, test } from 'vitest'

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8')

let cluster: Cluster
let shown: string

beforeAll(async () => {
  cluster = await Cluster.start()
  const store = await connect(cluster.urls)
  const watch = store.watch({ prefix: 'k' })[Symbol.asyncIterator]()
  const first = watch.next()
  for (let i = 0; i < 64; i++) await store.put(`k${i}`, 'v')
  for (let i = 0; i < 64; i++) await store.get(`k${i}`)
  await first
  await (await store.locks.acquire('l')).release()
  const asked = cluster.members.map(async ({ http }) => {
    await ask(`${http}/v1/kv/k1`, {})
    // The measurement of the event loop has no value before the second request.
    await ask(`${http}/metrics`, {})
    await new Promise((resolve) => setTimeout(resolve, 300))
    return (await ask(`${http}/metrics`, {}))?.body ?? ''
  })
  shown = (await Promise.all(asked)).join('\n')
  await store.close()
}, 60_000)
afterAll(() => cluster.destroy())

/** The names of the samples, with those of histograms as they are asked for. */
const samples = (text: string): Set<string> =>
  new Set([...text.matchAll(/^([a-z][a-z0-9_]*)(?:\{[^\n]*\})? \S+$/gm)].map(([, name]) => name as string))
const named = (text: string): string[] => [
  ...new Set([...text.matchAll(/\b(?:latchkey|process|nodejs)_[a-z0-9_]+\b/g)].map(([name]) => name)),
]

test.each(['deploy/prometheus/rules.yml', 'deploy/grafana/dashboard.json'])(
  'each metric that %s names is shown by a live member',
  (path) => {
    const names = named(read(path))
    expect(names.length).toBeGreaterThan(10)
    const known = samples(shown)
    expect(names.filter((name) => !known.has(name))).toEqual([])
  },
)

test('the counters have counted the load', () => {
  const sum = (pattern: RegExp) =>
    [...shown.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0)
  expect(sum(/^latchkey_requests_total\{kind="put"\} (\d+)$/gm)).toBeGreaterThanOrEqual(64)
  expect(sum(/^latchkey_requests_total\{kind="get"\} (\d+)$/gm)).toBeGreaterThanOrEqual(64)
  expect(sum(/^latchkey_proposals_total\{outcome="committed"\} (\d+)$/gm)).toBeGreaterThanOrEqual(64)
  expect(sum(/^latchkey_commit_duration_seconds_count (\d+)$/gm)).toBeGreaterThan(10)
  expect(sum(/^latchkey_log_sync_duration_seconds_count (\d+)$/gm)).toBeGreaterThan(20)
  expect(sum(/^latchkey_elections_total\{result="won"\} (\d+)$/gm)).toBeGreaterThanOrEqual(1)
  expect(sum(/^latchkey_leader_changes_total (\d+)$/gm)).toBeGreaterThanOrEqual(3)
  expect(sum(/^latchkey_watches (\d+)$/gm)).toBe(1)
  expect(sum(/^latchkey_member_bytes_total\{direction="sent"\} (\d+)$/gm)).toBeGreaterThan(1000)
})

test('docs/metrics.md tells of each metric of Latchkey that is shown, and of no other one', () => {
  const documented = [...read('docs/metrics.md').matchAll(/^\| `(latchkey_[a-z_]+)/gm)].map(
    ([, name]) => name,
  )
  const types = [...shown.matchAll(/^# TYPE (latchkey_[a-z_]+) /gm)].map(([, name]) => name)
  expect([...new Set(documented)].sort()).toEqual([...new Set(types)].sort())
})
