// Test: live members under load show each metric that the alerts, the dashboard and docs/metrics.md name, and
// docs/metrics.md describes each metric that members show.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '@latchkey/client'
import { ask } from '@latchkey/test-chaos/ask'
import { authority } from '@latchkey/test-chaos/certificates'
import { Cluster, type Sidecar } from '@latchkey/test-chaos/cluster'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../../${path}`, import.meta.url)), 'utf8')

let cluster: Cluster
let folder: string
let shown: string

beforeAll(async () => {
  const ours = authority('ours')
  folder = mkdtempSync(join(tmpdir(), 'latchkey-metrics-'))
  const [file, ca] = [join(folder, 'tls.pem'), join(folder, 'ca.pem')]
  const { cert, key } = ours.issue('member')
  writeFileSync(file, cert + key)
  writeFileSync(ca, ours.cert)
  const flags = ['--tls-cert', file, '--tls-key', file, '--tls-ca', ca]
  cluster = await Cluster.start({ ca: ours.cert, flags })
  const store = await connect(cluster.urls, { tls: { ca: ours.cert } })
  const watch = store.watch({ prefix: 'k' })[Symbol.asyncIterator]()
  const first = watch.next()
  for (let i = 0; i < 64; i++) await store.put(`k${i}`, 'v')
  for (let i = 0; i < 64; i++) await store.get(`k${i}`)
  await first
  await (await store.locks.acquire('l')).release()
  const asked = cluster.members.map(async ({ http }) => {
    await ask(`${http}/v1/kv/k1`, { ca: ours.cert })
    // The first ping between two members comes half a second after they have met.
    return until('both other members have answered a ping', async () => {
      const text = (await ask(`${http}/metrics`, { ca: ours.cert }))?.body ?? ''
      return text.match(/^latchkey_member_round_trip_seconds\{/gm)?.length === 2 ? text : undefined
    })
  })
  shown = (await Promise.all(asked)).join('\n')
  await store.close()
})
afterAll(async () => {
  await cluster.destroy()
  rmSync(folder, { recursive: true })
})

/** The names of the samples, with those of histograms as they are asked for. */
const samples = (text: string): Set<string> =>
  new Set([...text.matchAll(/^([a-z][a-z0-9_]*)(?:\{[^\n]*\})? \S+$/gm)].map(([, name]) => name as string))
const named = (text: string): string[] => [
  ...new Set([...text.matchAll(/\b(?:latchkey|process|nodejs)_[a-z0-9_]+\b/g)].map(([name]) => name)),
]

test.each(['deploy/prometheus/rules.yml', 'deploy/grafana/dashboard.json'])(
  'each metric that %s names is shown by a live member',
  (path) => {
    const lines = read(path).split('\n')
    const isQuery = (line: string) => /^\W*expr\W/.test(line)
    const queried = named(lines.filter(isQuery).join('\n'))
    expect(queried.length).toBeGreaterThan(10)
    const known = samples(shown)
    expect(queried.filter((name) => !known.has(name))).toEqual([])
    // For people a histogram is named without the end of a sample's name.
    const told = named(lines.filter((line) => !isQuery(line)).join('\n'))
    expect(told.filter((name) => !known.has(name) && !known.has(`${name}_bucket`))).toEqual([])
  },
)

test('the counters have counted the load', () => {
  const sum = (pattern: RegExp) =>
    [...shown.matchAll(pattern)].reduce((total, [, value]) => total + Number(value), 0)
  expect(sum(/^latchkey_requests_total\{door="websocket",kind="put"\} (\d+)$/gm)).toBeGreaterThanOrEqual(64)
  expect(sum(/^latchkey_requests_total\{door="websocket",kind="get"\} (\d+)$/gm)).toBeGreaterThanOrEqual(64)
  expect(sum(/^latchkey_proposals_total\{outcome="committed"\} (\d+)$/gm)).toBeGreaterThanOrEqual(64)
  expect(sum(/^latchkey_commit_duration_seconds_count (\d+)$/gm)).toBeGreaterThan(10)
  expect(sum(/^latchkey_log_sync_duration_seconds_count (\d+)$/gm)).toBeGreaterThan(20)
  expect(sum(/^latchkey_elections_won_total (\d+)$/gm)).toBeGreaterThanOrEqual(1)
  expect(sum(/^latchkey_leader_changes_total (\d+)$/gm)).toBeGreaterThanOrEqual(3)
  // A store that has moved to another member is counted by both for a moment.
  expect(sum(/^latchkey_watches (\d+)$/gm)).toBeGreaterThanOrEqual(1)
  expect(sum(/^latchkey_member_bytes_total\{member="[abc]",direction="sent"\} (\d+)$/gm)).toBeGreaterThan(
    1000,
  )
  expect(sum(/^latchkey_elections_total\{reason="[a-z_]+"\} (\d+)$/gm)).toBeGreaterThanOrEqual(1)
  expect(sum(/^latchkey_state_write_duration_seconds_count (\d+)$/gm)).toBeGreaterThanOrEqual(3)
  const connected = shown.match(/^latchkey_member_connected_seconds\{member="[abc]"\} [0-9.]+$/gm)
  const trips = shown.match(/^latchkey_member_round_trip_seconds\{member="[abc]"\} [0-9.e-]+$/gm)
  expect([connected?.length, trips?.length]).toEqual([6, 6])
})

test('docs/metrics.md tells of each metric of Latchkey that is shown, and of no other one', () => {
  const rows = read('docs/metrics.md').match(/^\| `latchkey_.*/gm) ?? []
  const documented = rows.flatMap((row) =>
    [...(row.split('|')[1] as string).matchAll(/`(latchkey_[a-z_]+)`/g)].map(([, name]) => name),
  )
  for (const row of rows) expect(row.split(' | ')[1], row).toMatch(/\w{3}/)
  const types = [...shown.matchAll(/^# TYPE (latchkey_[a-z_]+) /gm)].map(([, name]) => name)
  expect([...new Set(documented)].sort()).toEqual([...new Set(types)].sort())
})

test('each runbook that an alert names is there', () => {
  const named = [...read('deploy/prometheus/rules.yml').matchAll(/[Rr]unbook "([^"]+)"/g)]
  expect(named.length).toBeGreaterThan(3)
  const runbooks = read('docs/operations.md').split('\n')
  for (const [, name = ''] of named) expect(runbooks).toContain(`### ${name.replaceAll("''", "'")}`)
})

/** How often the main thread of a process has fallen asleep and been woken. */
const wakes = ({ pid }: { readonly pid: number | undefined }): number =>
  Number(
    /^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/task/${pid}/status`, 'utf8'))?.[1],
  )

test('an idle member that was asked wakes no more often', async () => {
  const idle = await Cluster.start({ size: 1 })
  onTestFinished(() => idle.destroy())
  const [member] = idle.members as [Sidecar]
  const counted = async () => {
    const before = wakes(member)
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    return wakes(member) - before
  }
  const before = await counted()
  await ask(`${member.http}/metrics`, {})
  // A timer of a hundred times a second, as Node has one for the delay of the event loop, would make 300.
  expect(await counted()).toBeLessThan(before + 200)
})

test('each alert has a unit test in which it fires', () => {
  const alerts = [...read('deploy/prometheus/rules.yml').matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
  const tested = read('deploy/prometheus/rules.test.yml')
  expect(alerts.length).toBeGreaterThan(10)
  const fires = (name = '') => new RegExp(`alertname: ${name}\\s+exp_alerts:\\s+- exp_labels`).test(tested)
  expect(alerts.filter((name) => !fires(name))).toEqual([])
})
