// Driver: reads or holds the small programs with which packed packages are tried, as text: they stand in a project of their own.

import { readFileSync } from 'node:fs'
import { FIRST_HOUR_TYPES } from './first-hour-types.mjs'

export const CLIENT_PACKAGES = ['@latchkey/base', '@latchkey/protocol', '@latchkey/lock', '@latchkey/client']
export const EMBEDDED_PACKAGES = [...CLIENT_PACKAGES, '@latchkey/raft', '@latchkey/kv', 'latchkey']

const tsconfig = JSON.stringify({
  compilerOptions: {
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable'],
    module: 'nodenext',
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    types: ['node'],
  },
  include: ['*.ts', '*.cts'],
})

/** The same with `import ... from 'x'` and with `const ... = require('x')`. */
const both = (names, from, body) => ({
  'smoke.mjs': `import { ${names} } from '${from}'\n${PRELUDE.esm}${body}`,
  'smoke.cjs': `const { ${names} } = require('${from}')\n${PRELUDE.cjs}async function main() {\n${body}}\nmain().catch((error) => { console.error(error); process.exit(1) })\n`,
})
const PRELUDE = {
  esm: "import assert from 'node:assert/strict'\n",
  cjs: "const assert = require('node:assert/strict')\n",
}

const WORK = `
  await store.put('k', 'v')
  assert.equal(await store.get('k', { as: 'string' }), 'v')
  const hold = await store.locks.acquire('lock', { lease: '5s' })
  await hold.kv.put('k', 'guarded')
  await assert.rejects(store.put('k', 'x', { guard: { key: 'lock', token: hold.token + 1 } }), { code: 'ERR_FENCED' })
  await hold.release()
  await store.close()
`

const TEST_CLUSTER = `
  const cluster = await testing.testCluster({ members: 3, clock: 'manual' })
  const crashed = await cluster.stores.a.locks.acquire('lock', { lease: '1h' })
  await cluster.kill('a')
  await cluster.leader()
  await cluster.advance('2h')
  assert.ok((await cluster.stores.b.locks.acquire('lock')).token > crashed.token)
  await cluster.close()
`

const TYPED_STORE = `
  const { revision }: { revision: number } = await store.put('k', 'v')
  const seen: string | undefined = await store.get('k', { as: 'string' })
  await store.locks.withLock('k', { lease: '10s' }, async (hold) => {
    const token: number = hold.token
    await hold.kv.put('k', String(token + revision), { signal: hold.signal })
  })
  const orders = store.sub('orders/', { as: 'json' })
  await orders.put('42', { state: 'new' })
  const order: { state: string } | undefined = await orders.get<{ state: string }>('42')
  for await (const event of store.watch({ prefix: 'k', from: revision })) if (event.type === 'put') break
  return seen ?? order?.state
`

/** Every way into every package; those that open files or sockets do so only when they are called. */
const IMPORTS = [
  ['base', '@latchkey/base'],
  ['protocol', '@latchkey/protocol'],
  ['lock', '@latchkey/lock'],
  ['kv', '@latchkey/kv'],
  ['client', '@latchkey/client'],
  ['level', '@latchkey/level'],
  ['locks', '@latchkey/locks'],
  ['postgres', '@latchkey/postgres'],
  ['redis', '@latchkey/redis'],
  ['etcd', '@latchkey/etcd'],
  ['raft', '@latchkey/raft'],
  ['core', '@latchkey/raft/core'],
  ['wal', '@latchkey/raft/wal'],
  ['net', '@latchkey/raft/net'],
  ['node', '@latchkey/raft/node'],
  ['memory', '@latchkey/raft/memory'],
  ['testing', 'latchkey/testing'],
]
const esmImports = IMPORTS.map(([name, from]) => `import * as ${name} from '${from}'\n`).join('')
const cjsImports = IMPORTS.map(([name, from]) => `const ${name} = require('${from}')\n`).join('')
const seen = `for (const part of [${IMPORTS.map(([name]) => name).join(', ')}]) if (Object.keys(part).length === 0) throw new Error('an empty package')\n`

const everything = both(
  'open, connect, Watchdog',
  'latchkey',
  `  assert.equal(typeof connect, 'function')\n  new Watchdog().close()\n  const store = await open({ id: 'a', memory: true })\n${WORK}${TEST_CLUSTER}`,
)

export const EVERYTHING = {
  'tsconfig.json': tsconfig,
  'check.ts': `${esmImports}import { open, type Store, type OpenOptions } from 'latchkey'\nimport { testCluster } from 'latchkey/testing'\n${seen}
const options: OpenOptions = { id: 'a', memory: true }
export async function leaderOf(): Promise<'a' | 'b' | 'c'> {
  await using cluster = await testCluster({ members: 3, clock: 'manual', as: 'string' })
  const remote: Store = await cluster.connect()
  await remote.put('k', 'v')
  for (const [id, store] of cluster.stores) {
    const seen: string | undefined = await store.get('k')
    if (id !== 'a' && seen === 'v') await store.put('k', 'w')
  }
  return cluster.leader()
}
export async function main(): Promise<string | undefined> {
  await using store: Store = await open(options)\n${TYPED_STORE}}
`,
  'check.cts': `import latchkey = require('latchkey')\nexport async function main(): Promise<string | undefined> {\n  const store: latchkey.Store = await latchkey.open({ id: 'a', memory: true })\n${TYPED_STORE}}\n`,
  'first-hour.mjs': readFileSync(new URL('first-hour.mjs', import.meta.url), 'utf8'),
  'smoke.mjs': `${esmImports}${everything['smoke.mjs']}${seen}`,
  'smoke.cjs': `${cjsImports}${seen}${everything['smoke.cjs']}`,
}

export const CLIENT_ONLY = {
  'tsconfig.json': tsconfig,
  'check.ts': `import { connect, type ConnectOptions, type Store } from '@latchkey/client'
const options: ConnectOptions = { token: 't', timeout: '5s' }
export async function main(): Promise<string | undefined> {
  await using store: Store = await connect(['ws://127.0.0.1:7001'], options)\n${TYPED_STORE}}
`,
  ...both('connect', '@latchkey/client', `  const store = await connect([process.env.ENDPOINT])\n${WORK}`),
}

/** The source maps and the sources are in the packages: Node finds both, and names the line that somebody wrote. */
const STACK = `import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { open } from 'latchkey'
const { stack } = await open({ id: 'a', memory: true, mebers: {} }).catch((error) => error)
const [, file] = /\\((\\/[^()]*\\/latchkey\\/src\\/[^()]+\\.ts):\\d+:\\d+\\)/.exec(stack) ?? []
assert.ok(file, 'no frame names a file of src: ' + stack)
assert.ok(existsSync(file), file + ' is not in the package')
`

/** The command is there without @latchkey/daemon, and the one that needs it says so. */
const START = `import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
for (const args of [['start', '--id', 'a', '--memory'], ['demo', '--seconds', '1']]) {
  const { status, stderr } = spawnSync('node_modules/.bin/latchkey', args, { encoding: 'utf8' })
  assert.match(stderr, /npm install @latchkey\\/daemon/)
  assert.equal(status, 78)
}
const help = spawnSync('node_modules/.bin/latchkey', ['start', '--help'], { encoding: 'utf8' })
assert.equal(help.status, 0)
`

export const EMBEDDED = {
  'tsconfig.json': tsconfig,
  'first-hour.ts': FIRST_HOUR_TYPES,
  'stack.mjs': STACK,
  'start.mjs': START,
}
