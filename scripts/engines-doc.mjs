// Driver: writes what docs/engines.md tells of each lock engine: what it says of itself, and which laws of the suite it passes. Runs
// the suites for that, on servers that scripts/servers.sh starts: `scripts/servers.sh -- node scripts/engines-doc.mjs` (built first).

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PLACE = 'docs/engines.md'
const BEGIN = '<!-- suite: from here on made by scripts/engines-doc.mjs -->'
const END = '<!-- suite: up to here -->'

const dist = (path) => import(new URL(`../packages/${path}`, import.meta.url))
const { memoryLocks } = await dist('locks/dist/memory/memory-lock-engine.js')
const { LATCHKEY } = await dist('locks/dist/open/locks-by-address.js')
const { postgresLocks } = await dist('postgres/dist/index.js')
const { redisLocks, redisQuorumLocks } = await dist('redis/dist/index.js')
const { etcdLocks } = await dist('etcd/dist/index.js')

/** Clients that reach nobody: capabilities are told without a server. */
const pool = { query: async () => ({ rows: [] }), on: () => {} }
const redis = () => ({ duplicate: redis, options: {}, status: 'wait', on: () => {}, disconnect: () => {} })

/** `within`: the title of the group of tests, where a file has several. */
const ENGINES = [
  {
    name: 'Latchkey',
    file: 'packages/locks/src/latchkey.test.ts',
    says: LATCHKEY,
    also: 'a killed leader in a cluster of three; simulator, chaos ([guarantees.md](guarantees.md))',
  },
  {
    name: 'PostgreSQL',
    file: 'packages/postgres/src/postgres.servers.test.ts',
    within: 'PostgreSQL',
    says: postgresLocks({ pool }).capabilities,
    also: 'a killed server under eight clients; lost connections inside guarded transactions; 50,000 random calls',
  },
  {
    name: 'PostgreSQL behind PgBouncer',
    file: 'packages/postgres/src/postgres.servers.test.ts',
    within: 'PgBouncer in transaction mode, where nobody can listen',
    says: postgresLocks({ pool, listen: false }).capabilities,
    also: '`listen: false`, in transaction mode',
  },
  {
    name: 'Redis, one server',
    file: 'packages/redis/src/redis.servers.test.ts',
    within: 'one Redis that writes everything to its disk',
    says: redisLocks({ client: redis(), survives: 'restart' }).capabilities,
    also: "with `survives: 'restart'`; a killed server under eight clients; fail-over by a sentinel; each failure below; 50,000 random calls",
  },
  {
    name: 'Redis, a quorum of masters',
    file: 'packages/redis/src/quorum.servers.test.ts',
    within: 'three masters',
    says: redisQuorumLocks({ clients: [redis(), redis(), redis()] }).capabilities,
    also: 'a killed master of three, also under eight clients; each failure below; 50,000 random calls',
  },
  {
    name: 'etcd',
    file: 'packages/etcd/src/etcd.servers.test.ts',
    within: 'etcd',
    says: etcdLocks({ client: { kv: {}, leaseClient: {}, watchClient: {} } }).capabilities,
    also: 'a killed server of three under eight clients, also the leader; a lost lease during a wait, a compacted watch, a late request, a silent server; 50,000 random calls',
  },
  {
    name: 'memory',
    file: 'packages/locks/src/memory/memory.test.ts',
    says: memoryLocks().capabilities,
    also: '20,000 random calls in every run',
  },
]

/** Laws that an engine does not promise by what it says of itself: the suite returns at once there. */
const PROMISED = [
  [/^fencing 'enforced'/, ({ fencing }) => fencing === 'enforced'],
  [/^fencing 'told'/, ({ fencing }) => fencing === 'told'],
  [/^EN2/, ({ fencing }) => fencing !== 'none'],
  [/^EN6: no new caller overtakes/, ({ queue }) => queue === 'fair'],
  [/^survives/, ({ survives }) => survives !== 'nothing'],
]
const isPromised = (law, says) => PROMISED.every(([name, of]) => !name.test(law) || of(says))

function run(folder, words, files) {
  const output = join(folder, 'report.json')
  rmSync(output, { force: true })
  const report = ['--reporter=json', `--outputFile=${output}`]
  spawnSync('npx', ['vitest', 'run', ...words, ...report, ...files], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (!existsSync(output)) throw new Error(`no report of ${files.join(' ')}`)
  return JSON.parse(readFileSync(output, 'utf8')).testResults
}

function outcomes() {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-suite-'))
  try {
    const files = [...new Set(ENGINES.map(({ file }) => file))]
    const isOnServers = (file) => file.includes('.servers.')
    return [
      ...run(
        folder,
        ['--project', 'locks'],
        files.filter((file) => !isOnServers(file)),
      ),
      ...run(folder, ['--config', 'vitest.servers.config.ts'], files.filter(isOnServers)),
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const results = outcomes()
const testsOf = ({ file, within }) =>
  results
    .filter(({ name }) => name.endsWith(file))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ ancestorTitles }) => (ancestorTitles.at(-1) ?? '') === (within ?? ''))
const statusOf = (engine, law) => testsOf(engine).find(({ title }) => title === law)?.status

/** The suite's tests are what every engine has. */
const [first, ...rest] = ENGINES.map((engine) => new Set(testsOf(engine).map(({ title }) => title)))
const laws = [...first].filter((title) => rest.every((titles) => titles.has(title)))
const failed = ENGINES.flatMap((engine) =>
  laws.filter((law) => statusOf(engine, law) !== 'passed').map((law) => `${engine.name}: ${law}`),
)
if (laws.length < 20 || failed.length > 0) {
  console.error(`the suite has ${laws.length} laws in common; not passed:\n${failed.join('\n')}`)
  process.exit(1)
}

const line = (cells) => `| ${cells.join(' | ')} |`
const table = (heads, rows) => [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')
const said = table(
  ['engine', 'fencing', 'queue', 'wakeUp', 'survives', 'time', 'suite', 'also tested by'],
  ENGINES.map(({ name, says, also }) => {
    const count = laws.filter((law) => isPromised(law, says)).length
    const { fencing, queue, wakeUp, survives, time } = says
    return [name, fencing, queue, wakeUp, survives, time, `all ${count} laws that it promises`, also]
  }),
)
const passed = table(
  ['law', ...ENGINES.map(({ name }) => name)],
  laws.map((law) => [law, ...ENGINES.map(({ says }) => (isPromised(law, says) ? 'passed' : 'not promised'))]),
)
const page = readFileSync(PLACE, 'utf8')
const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
if (begin < 0 || end < begin) throw new Error(`${PLACE} has no part marked for the suite`)
writeFileSync(PLACE, `${page.slice(0, begin)}${BEGIN}\n\n${said}\n\n${passed}\n\n${page.slice(end)}`)
console.log(`${PLACE}: ${ENGINES.length} engines, ${laws.length} laws`)
process.exit(0)
