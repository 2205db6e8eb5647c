// Test: the effects of a store on its process: an open store keeps the process alive, but lock timers do not.
// The store prints nothing and installs no signal handler, and require() works. The tests start processes
// with the built packages.

import { spawn } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { freePorts } from './testing/free-ports-and-temporary-folders.js'

const LATCHKEY = fileURLToPath(new URL('../../dist/index.js', import.meta.url))
const CLIENT = fileURLToPath(new URL('../../../client/dist/index.js', import.meta.url))
const dir = realpathSync(mkdtempSync(join(tmpdir(), 'latchkey-contract-')))
afterAll(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))

interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly out: string
  readonly err: string
  /** The time from its last output to its end, ms. */
  readonly lingered: number
}

/** A process that ends by itself has ended after this time, ms. */
const A_WHILE = 2_000
const TOO_LONG = 40_000

let made = 0
/**
 * `killed`: a while after its first output. A process without output, or that does not end, is killed too.
 */
function run(source: string, kind: 'mjs' | 'cjs' = 'mjs', killed = false): Promise<Ended> {
  const file = join(dir, `${++made}.${kind}`)
  const head =
    kind === 'mjs'
      ? `import { open, connect, Watchdog } from ${JSON.stringify(pathToFileURL(LATCHKEY).href)}\nconst dir = ${JSON.stringify(join(dir, `data-${made}`))}\n`
      : ''
  writeFileSync(file, head + source)
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'pipe'] })
  const told = { out: '', err: '' }
  let spoke = performance.now()
  child.stdout.on('data', (bytes: Buffer) => {
    told.out += bytes.toString()
    spoke = performance.now()
    if (killed) setTimeout(() => child.kill('SIGKILL'), A_WHILE)
  })
  child.stderr.on('data', (bytes: Buffer) => (told.err += bytes.toString()))
  const timer = setTimeout(() => child.kill('SIGKILL'), TOO_LONG)
  return new Promise((resolve) => {
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ code, signal, ...told, lingered: performance.now() - spoke })
    })
  })
}

test.concurrent('after close() the process ends by itself, whatever locks it held; nothing was printed', async () => {
  const ended = await run(`
const store = await open({ id: 'a', dir })
const watchdog = new Watchdog()
const lock = store.getDistributedLock('k', '1h', watchdog)
await lock.tryLock()
const hold = await store.locks.acquire('l', { lease: '1h' })
const timed = store.getDistributedLock('m', '1h')
await timed.tryLock()
store.locks.acquire('k').catch(() => {})
store.watch({ prefix: '' })
await store.close()
console.log('closed')
`)
  expect(ended).toMatchObject({ code: 0, signal: null, out: 'closed\n', err: '' })
  expect(ended.lingered).toBeLessThan(30_000)
})

test.concurrent('an open store keeps the process alive', async () => {
  const ended = await run(
    `
const store = await open({ id: 'a', ${'dir'} })
await store.ready()
console.log('open')
`,
    'mjs',
    true,
  )
  expect(ended).toMatchObject({ code: null, signal: 'SIGKILL', out: 'open\n', err: '' })
})

test.concurrent('an open store in memory, and a remote one, keep the process alive too', async () => {
  const [port] = await freePorts(1)
  const url = `ws://127.0.0.1:${port}`
  const [memory, both] = await Promise.all([
    run(`await open({ id: 'a', memory: true })\nconsole.log('open')\n`, 'mjs', true),
    run(
      `const store = await open({ id: 'a', memory: true, members: { a: '${url}' } })
const remote = await connect(['${url}'])
await remote.put('k', 'v')
await remote.close()
await store.close()
console.log('closed')
`,
    ),
  ])
  expect(memory).toMatchObject({ signal: 'SIGKILL', out: 'open\n', err: '' })
  expect(both).toMatchObject({ code: 0, out: 'closed\n', err: '' })
})

test.concurrent('a remote store keeps the process alive until it is closed', async () => {
  const { open } = await import('../index.js')
  const [port] = await freePorts(1)
  const url = `ws://127.0.0.1:${port}`
  await using server = await open({ id: 'a', memory: true, members: { a: url } })
  await server.ready()
  const [kept, closed] = await Promise.all([
    run(`const remote = await connect(['${url}'])\nconsole.log('open')\n`, 'mjs', true),
    run(`const remote = await connect(['${url}'])
const hold = await remote.locks.acquire('k', { lease: '1h' })
await remote.close()
console.log('closed')
`),
  ])
  expect(kept).toMatchObject({ signal: 'SIGKILL', out: 'open\n', err: '' })
  expect(closed).toMatchObject({ code: 0, out: 'closed\n', err: '' })
  expect(closed.lingered).toBeLessThan(10_000)
})

test.concurrent('libraries install no handlers on the process, and leave no lock of the directory behind', async () => {
  const ended = await run(`
const count = () => Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)]))
const before = JSON.stringify(count())
const store = await open({ id: 'a', dir })
await store.put('k', 'v')
const hold = await store.locks.acquire('k')
const during = JSON.stringify(count())
await store.close()
const again = await open({ id: 'a', dir })
await again.close()
console.log(before === during, before === JSON.stringify(count()), before, during)
`)
  expect(ended.out).toMatch(/^true true/)
  expect(ended).toMatchObject({ code: 0, err: '' })
})

test.concurrent('hundreds of calls with one signal print no warning', async () => {
  const ended = await run(`
const store = await open({ id: 'a', dir })
const { signal } = new AbortController()
const holder = await store.locks.acquire('l')
const calls = []
for (let n = 0; n < 100; n++) {
  calls.push(store.put('k' + n, '', { signal }), store.get('k', { signal }), store.scan({}, { signal }))
  calls.push(store.locks.acquire('l', { wait: 300, signal }).catch(() => {}))
  store.watch({ prefix: '' }, { signal })
  store.on('leader', () => {})
}
await Promise.all(calls)
await store.close()
console.log('done')
`)
  expect(ended).toMatchObject({ code: 0, out: 'done\n', err: '' })
})

test.concurrent('a directory whose process was killed can be opened again; that of a living one is ERR_DIR_LOCKED', async () => {
  const held = join(dir, 'held')
  const file = join(dir, 'holder.mjs')
  writeFileSync(
    file,
    `import { open } from ${JSON.stringify(pathToFileURL(LATCHKEY).href)}
const store = await open({ id: 'a', dir: ${JSON.stringify(held)} })
await store.put('k', 'v')
console.log('open')
`,
  )
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const { open } = await import('../index.js')
  await expect(open({ id: 'a', dir: held })).rejects.toMatchObject({ code: 'ERR_DIR_LOCKED' })
  const gone = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGKILL')
  await gone
  await using store = await open({ id: 'a', dir: held })
  expect(await store.get('k', { as: 'string' })).toBe('v')
})

test.concurrent('require() works from CommonJS, for the store and the client alone', async () => {
  const ended = await run(
    `const latchkey = require(${JSON.stringify(LATCHKEY)})
const client = require(${JSON.stringify(CLIENT)})
const names = ['open', 'connect', 'restore', 'Watchdog', 'FenceGuard', 'LatchkeyError']
console.log(names.map((name) => typeof latchkey[name]).join(), typeof client.connect)
latchkey.open({ id: 'a', memory: true }).then(async (store) => {
  await store.put('k', 'v')
  console.log(await store.get('k', { as: 'string' }))
  await store.close()
})
`,
    'cjs',
  )
  expect(ended.out).toBe(`${Array(6).fill('function').join()} function\nv\n`)
  expect(ended.code).toBe(0)
})
