// Driver: the speed of each lock engine in one run: what `npm run bench -- --engines` starts, with the servers of
// scripts/servers.sh.

import { readFile, writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { locks } from '@latchkey/locks'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { commandBundle, watchBundle } from '../unchanged-bundle.js'
import { engineTable, pageWithSpeeds, type Row } from './engines-table.js'
import { CROWD, measure, WAITERS } from './measure.js'

interface Engine {
  readonly name: string
  readonly setting: string
  readonly url: string
}

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '4' }, markdown: { type: 'string' } },
})
const seconds = Number(values.seconds)

const needed = (name: string): string => {
  const value = process.env[name]
  if (value === undefined || value === '')
    throw new Error(`${name} is not set: run npm run bench -- --engines`)
  return value
}
const hosts = (urls: string) => urls.split(',').map((url) => new URL(url).host)

const checkBundle = watchBundle(await commandBundle())
if (typeof checkBundle === 'string') throw new Error(checkBundle)
const [busy = 0] = loadavg()
const cluster = await Cluster.start({})
const engines: Engine[] = [
  { name: 'memory', setting: 'memory of this process', url: 'memory:' },
  {
    name: 'Latchkey',
    setting: 'three members, which sync each commit on a majority',
    url: `latchkey+${cluster.urls.map((url, i) => (i === 0 ? url : url.split('://')[1])).join(',')}`,
  },
  {
    name: 'PostgreSQL',
    setting:
      'one server with default settings (fsync and synchronous commit), and a pool of five connections',
    url: needed('POSTGRES_URL'),
  },
  {
    name: 'Redis',
    setting: 'one server with appendfsync always',
    url: needed('REDIS_URL'),
  },
  {
    name: 'Redis, a quorum of masters',
    setting: 'three servers with appendfsync always',
    url: `redis+quorum://${hosts(needed('REDIS_URLS')).join(',')}`,
  },
  {
    name: 'etcd',
    setting: 'three members, which sync each commit on a majority',
    url: `etcd://${hosts(needed('ETCD_URLS')).join(',')}`,
  },
]

const rows: Row[] = []
try {
  for (const { name, setting, url } of engines) {
    console.log(`> ${name}`)
    const speeds = await speedsOf(url).catch((error: Error) => error.message)
    rows.push({ name, setting, speeds })
    if (typeof speeds === 'string') console.error(`FAILED ${name}: ${speeds}`)
  }
} finally {
  await cluster.destroy()
}
checkBundle()

const text = `The machine had ${cpus().length} cores (${cpus()[0]?.model ?? '?'}) and Node ${process.versions.node}, and it ran the servers and the
callers. The load average was ${busy.toFixed(1)} before the run. Each load ran for ${seconds} s. A caller acquires a lock with
\`locks.acquire\` and releases it with \`hold.release\`. In one load, each of ${CROWD} callers has a lock of its own. In another load, ${WAITERS} callers wait for the
same lock.

${engineTable(rows)}`
console.log(`\n${text}`)
if (values.markdown !== undefined) {
  const page = pageWithSpeeds(await readFile(values.markdown, 'utf8'), text)
  if (page === undefined) throw new Error(`${values.markdown} has no part marked for the speeds of engines`)
  await writeFile(values.markdown, page)
}
process.exit(rows.every(({ speeds }) => typeof speeds !== 'string') ? 0 : 1)

async function speedsOf(url: string): Promise<Row['speeds']> {
  const engine = await locks(url)
  try {
    return await measure(engine, seconds)
  } finally {
    await engine.close()
  }
}
