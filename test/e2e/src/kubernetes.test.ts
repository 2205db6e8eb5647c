// Test: the files for Kubernetes are valid by their schemas and made from the present chart. Their commands
// run as processes on loopback, with names whose addresses change at each start.

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  PrometheusRule,
  ServiceMonitor,
} from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1'
import { elementAt } from '@latchkey/base'
import { connect } from '@latchkey/client'
import { authority } from '@latchkey/test-chaos/certificates'
import { latchkey } from '@latchkey/test-chaos/command'
import { underLoad } from '@latchkey/test-chaos/load'
import { StatefulSet as StatefulSetModel } from 'kubernetes-models/apps/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { Service } from 'kubernetes-models/v1'
import { expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { installFakeDns } from './kubernetes/fake-dns.js'
import { Pods, type StatefulSet } from './kubernetes/pods.js'

const DEPLOY = fileURLToPath(new URL('../../../deploy/', import.meta.url))
const FILES = ['latchkey.yaml', 'beside-an-app.yaml', 'metrics.yaml']
const textOf = (file: string) => readFileSync(join(DEPLOY, 'kubernetes', file), 'utf8')
const documentsOf = (text: string) =>
  parseAllDocuments(text).map((one) => one.toJS() as { kind: string; apiVersion: string })
const setOf = (text: string) =>
  documentsOf(text).find(({ kind }) => kind === 'StatefulSet') as unknown as StatefulSet

const MODELS = {
  Service,
  StatefulSet: StatefulSetModel,
  PodDisruptionBudget,
  ServiceMonitor,
  PrometheusRule,
} as const

test('the files are made from the present chart', () => {
  const chart = join(DEPLOY, 'helm', 'latchkey')
  const templates = readdirSync(join(chart, 'templates')).sort()
  const names = [
    ...['Chart.yaml', 'values.yaml', 'beside-an-app.yaml'],
    ...templates.map((name) => join('templates', name)),
    'rules.yml',
  ]
  const alerts = readFileSync(join(DEPLOY, 'prometheus', 'rules.yml'))
  expect(readFileSync(join(chart, 'rules.yml')).equals(alerts), 'run scripts/helm.sh').toBe(true)
  const sum = createHash('sha256')
  for (const name of names) sum.update(readFileSync(join(chart, name)))
  const expected = sum.digest('hex').slice(0, 16)
  for (const file of FILES)
    expect([file, textOf(file).split('\n')[1]]).toEqual([file, expect.stringContaining(`(${expected})`)])
})

/** In MiB. */
const memoryOf = (text: string): number => Number.parseInt(text, 10) * (text.endsWith('Gi') ? 1_024 : 1)

// Without this law: Kubernetes kills a member that is attacked, although the member keeps all its own limits.
test('the limit of memory has room for attacks, as docs/operations.md says', () => {
  const operations = readFileSync(join(DEPLOY, '..', 'docs', 'operations.md'), 'utf8')
  const forAttacks = Number(/(\d+) MiB of memory for attacks/.exec(operations)?.[1])
  for (const file of ['latchkey.yaml', 'beside-an-app.yaml']) {
    const { containers } = setOf(textOf(file)).spec.template.spec
    const { limits, requests } = elementAt(containers, 0).resources
    expect(memoryOf(limits.memory) - memoryOf(requests.memory)).toBe(forAttacks)
  }
})

test.each(FILES)('%s is valid by the schemas of Kubernetes', (file) => {
  const documents = documentsOf(textOf(file))
  expect(documents.length).toBeGreaterThan(1)
  for (const one of documents) {
    const Model = MODELS[one.kind as keyof typeof MODELS] as unknown as new (
      data: unknown,
    ) => { validate(): void }
    expect(() => new Model(one).validate()).not.toThrow()
    expect(() => new Model({ ...one, spec: 1 }).validate()).toThrow()
  }
})

/** As `helm upgrade --set newCluster=false` makes it. */
const laterSet = () =>
  setOf(
    textOf('latchkey.yaml').replace(
      'name: LATCHKEY_JOIN\n              value: "false"',
      'name: LATCHKEY_JOIN\n              value: "true"',
    ),
  )

/** Nothing runs yet. The names are found in this process, too. */
async function installed() {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-pods-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const ours = authority('cluster')
  const { cert, key } = ours.issue('latchkey', undefined, ['*.latchkey.default.svc'])
  const sha256 = createHash('sha256').update('secret').digest('hex')
  const tokens = { tokens: [{ sha256, name: 'all' }], memberToken: 'm'.repeat(64) }
  const pods = await Pods.install(setOf(textOf('latchkey.yaml')), {
    folder,
    ca: ours.cert,
    secrets: {
      tls: { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ours.cert },
      tokens: { 'tokens.json': JSON.stringify(tokens) },
    },
  })
  onTestFinished(() => pods.destroy())
  installFakeDns(pods.hosts)
  const command = async (...args: string[]) => {
    const run = latchkey(args, [pods.url(0), pods.url(2)], {
      NODE_OPTIONS: `--import ${new URL('../dist/kubernetes/fake-dns.js', import.meta.url).href}`,
      FAKE_DNS_FILE: pods.hosts,
      LATCHKEY_CA: join(folder, 'tls', 'ca.crt'),
      LATCHKEY_TOKEN: 'secret',
    })
    const { code, err } = await run.ended
    expect([code, err]).toEqual([0, expect.any(String)])
  }
  const allReady = async (count: number) => {
    for (let nth = 0; nth < count; nth++) await pods.ready(nth)
  }
  return { pods, command, allReady, options: { tls: { ca: ours.cert }, token: 'secret' } }
}

test('boot, rolling restart, three to five and back, a lost node, a lost disk: no call fails, and a hold is kept', async () => {
  const { pods, command, allReady, options } = await installed()
  await pods.scale(3)
  await allReady(3)
  const store = await connect(pods.urls, options)
  onTestFinished(() => store.close())
  const hold = await store.locks.acquire('throughout', { lease: '30s' })
  const report = await underLoad(
    pods.urls,
    async (load) => {
      await load.more(20)
      await pods.update(laterSet())
      await load.more(20)

      await pods.scale(5)
      for (const nth of [3, 4])
        await command('members', 'add', pods.id(nth), pods.url(nth), '--promote', '--wait', '60s')
      await allReady(5)
      await load.more(20)
      for (const nth of [4, 3]) await command('members', 'remove', pods.id(nth))
      await pods.scale(3)
      await load.more(20)

      const leader = Number((await store.status()).leader?.split('-').at(-1))
      await pods.lose(leader)
      await load.more(20)
      pods.start(leader)
      await pods.ready(leader)

      await pods.lose(1, { disk: true })
      pods.start(1)
      await command('members', 'replace', pods.id(1), pods.id(1), pods.url(1), '--wait', '60s')
      await allReady(3)
      await load.more(20)
    },
    options,
  )
  expect(report.errors).toEqual([])
  expect(report.faults).toEqual([])
  expect(hold.held).toBe(true)
  const { members } = await store.status()
  expect(members.map(({ id, role }) => `${id} ${role}`).sort()).toEqual(
    [0, 1, 2].map((nth) => `${pods.id(nth)} voter`),
  )
})
