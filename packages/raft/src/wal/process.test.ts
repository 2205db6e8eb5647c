// Test: real processes: one is killed with SIGKILL during a write, and several open a directory at the same
// time.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir, uptime } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { systemClock } from '@latchkey/base'
import { build } from 'vite'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  lockDirectory,
  type ProcessName,
  type Processes,
  refuseLocked,
  systemProcesses,
} from './directory-lock.js'
import { nodeFileSystem } from './node-file-system.js'
import { openWal } from './testing/wal-fixture.js'

const clock = systemClock(uptime)
const packages = fileURLToPath(new URL('../../../', import.meta.url))
let root: string
let dir: string
let round = 0

const CHILD = `
import { lockDirectory, nodeFileSystem, systemClock, Wal } from './bundle/child.mjs'
const [, , what, dir] = process.argv
const clock = systemClock(() => process.uptime())
const say = (line) => process.stdout.write(line + '\\n')
const codec = { encode: (m) => Buffer.from(JSON.stringify(m)), decode: (b) => JSON.parse(Buffer.from(b).toString()) }
if (what === 'lock') {
  try {
    const lock = await lockDirectory(dir, clock)
    say('held')
    process.stdin.on('data', async () => { await lock.release(); process.exit(0) })
  } catch (error) {
    say(error.code)
    process.exit(1)
  }
} else {
  const fs = nodeFileSystem()
  const { wal, recovered } = await Wal.open({ fs, dir, memberId: 'a', incarnation: 'x', membership: codec, clock, segmentBytes: 65536 })
  let index = (recovered.entries.at(-1)?.index ?? recovered.start.position.index) + 1
  const next = () => {
    const entries = [{ index, term: 1, time: index, kind: 'commands', data: Buffer.alloc(index % 900, index) }]
    wal.append({ id: index, hardState: { term: index, vote: 'a' }, truncateFrom: undefined, entries, restartAfter: undefined }, () => {
      say(String(entries[0].index))
      if (entries[0].index % 50 === 0) wal.compact(entries[0].index - 20)
      next()
    })
    index++
  }
  for (let i = 0; i < 8; i++) next()
}
`

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'latchkey-process-'))
  const entry = join(root, 'child.ts')
  const source = ['raft/src/wal/index.ts', 'base/src/index.ts'].map(
    (path) => `export * from '${packages}${path}'`,
  )
  await writeFile(entry, source.join('\n'))
  const alias = [{ find: /^@latchkey\/([a-z]+)$/, replacement: `${packages}$1/src/index.ts` }]
  await build({
    root,
    configFile: false,
    logLevel: 'silent',
    resolve: { alias },
    ssr: { noExternal: true },
    build: {
      ssr: entry,
      outDir: join(root, 'bundle'),
      minify: false,
      rollupOptions: { output: { format: 'es', entryFileNames: 'child.mjs' } },
    },
  })
  await writeFile(join(root, 'run.mjs'), CHILD)
})
beforeEach(() => {
  dir = join(root, `data-${round++}`)
})
afterAll(() => rm(root, { recursive: true, force: true }))

function start(what: 'lock' | 'write'): { child: ChildProcess; lines: AsyncIterableIterator<string> } {
  const child = spawn(process.execPath, [join(root, 'run.mjs'), what, dir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  return { child, lines }
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

const lock = (processes?: Processes) => lockDirectory(dir, clock, processes)

test('D8: a process is killed while it writes: what it reported as durable is in the log', async () => {
  for (let life = 0; life < 6; life++) {
    const { child, lines } = start('write')
    let said = 0
    for (let count = 0; count < 40 + life * 37; count++) said = Number((await lines.next()).value)
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    for await (const line of lines) said = Number(line)
    await gone
    const { wal, recovered } = await openWal(nodeFileSystem(), { dir, segmentBytes: 65536 })
    expect(recovered.entries.at(-1)?.index).toBeGreaterThanOrEqual(said)
    expect(recovered.hardState.term).toBe(recovered.entries.at(-1)?.index)
    for (const { index, data } of recovered.entries)
      expect(data.every((byte) => byte === (index & 255))).toBe(true)
    await wal.close()
  }
})

test('D13: a second process is refused while the first lives; after kill -9 the next one gets in', async () => {
  const first = start('lock')
  expect((await first.lines.next()).value).toBe('held')
  const second = start('lock')
  expect((await second.lines.next()).value).toBe('ERR_DIR_LOCKED')
  await expect(lock()).rejects.toMatchObject({
    code: 'ERR_DIR_LOCKED',
    message: expect.stringContaining(`Process ${first.child.pid} holds`),
  })
  await expect(refuseLocked(dir)).rejects.toMatchObject({ code: 'ERR_DIR_LOCKED' })
  await kill(first.child)
  await refuseLocked(dir)
  await refuseLocked(join(dir, 'none'))
  const mine = await lock()
  const third = start('lock')
  expect((await third.lines.next()).value).toBe('ERR_DIR_LOCKED')
  await mine.release()
  expect(await readdir(dir)).toEqual([])
})

test('D13: of several processes that start at once exactly one gets in', async () => {
  const started = Array.from({ length: 4 }, () => start('lock'))
  const said = await Promise.all(started.map(async ({ lines }) => (await lines.next()).value as string))
  expect(said.sort()).toEqual(['ERR_DIR_LOCKED', 'ERR_DIR_LOCKED', 'ERR_DIR_LOCKED', 'held'])
  const gone = started.map(({ child }) => (child.exitCode === null ? once(child, 'exit') : Promise.resolve()))
  for (const { child } of started) {
    // Processes that were refused may have ended already.
    child.stdin?.on('error', () => {})
    child.stdin?.end('release')
  }
  await Promise.all(gone)
  expect(await readdir(dir)).toEqual([])
})

test('D13: a second opener in the same process is refused too, and may try again after the release', async () => {
  const first = await lock()
  await expect(lock()).rejects.toMatchObject({ code: 'ERR_DIR_LOCKED' })
  await first.release()
  await (await lock()).release()
})

test('D13: of ten openers at once in one process exactly one gets in, each time', async () => {
  for (let i = 0; i < 30; i++) {
    const tried = await Promise.allSettled(Array.from({ length: 10 }, () => lock()))
    const held = tried.filter((one) => one.status === 'fulfilled')
    expect(held.length).toBe(1)
    for (const { value } of held) await value.release()
  }
})

test('D13: stale files of another boot, or of a process id that was given again, do not lock', async () => {
  const { pid, start: begun, namespace, boot } = await systemProcesses.self()
  await (await lock()).release()
  const stale = [
    `lock.${pid}.${begun}.${namespace}.${'0'.repeat(32)}.${'0'.repeat(16)}`,
    `lock.${pid}.1.${namespace}.${boot}.${'1'.repeat(16)}`,
    `lock.999999999.1.${namespace}.${boot}.${'2'.repeat(16)}`,
  ]
  for (const file of stale) await writeFile(join(dir, file), 'held')
  await writeFile(join(dir, 'something else'), '')
  const mine = await lock()
  expect((await readdir(dir)).length).toBe(2)
  await mine.release()
  expect(await readdir(dir)).toEqual(['something else'])
})

test('D13: an opener that is alive but paused is waited for, up to a limit', async () => {
  await (await lock()).release()
  const other: ProcessName = { pid: 7, start: '7', namespace: '0', boot: '0' }
  const processes: Processes = { self: async () => ({ ...other, pid: 8 }), alive: async () => true }
  await writeFile(join(dir, `lock.7.7.0.0.${'f'.repeat(16)}`), '')
  let now = 0
  const quick = { ...clock, now: () => (now += 1000) }
  await expect(lockDirectory(dir, quick, processes)).rejects.toMatchObject({ code: 'ERR_DIR_LOCKED' })
  expect((await readdir(dir)).length).toBe(1)
})
