// Test: the flags of V8 in a process that runs only a member. V8 collects its heap of old objects when the
// heap has grown by three quarters, and the main thread alone collects young objects. New objects are in the
// young heap. A function is compiled to simple machine code at its first call, and to fast code after fewer
// calls. Flags that the user has set stay.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'

/**
 * Makes objects that grow old and are replaced. Prints the largest size of the heap and the size of the live
 * objects, in MiB. V8 obeys the limit only after its first full garbage collection, so the program begins with
 * one.
 */
const CHILD = `
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { setMemberFlags } from './v8-flags.mjs'
if (process.argv[2] === 'small') setMemberFlags()
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc')
const used = () => getHeapStatistics().used_heap_size / (1024 * 1024)
const kept = Array.from({ length: 400_000 }, (_, i) => ({ i, text: [i] }))
collect()
let most = 0
for (let round = 0; round < 150; round++) {
  for (let i = 0; i < 20_000; i++) kept[(round * 20_000 + i) % kept.length] = { i, text: [i] }
  most = Math.max(most, used())
  await new Promise((resolve) => setImmediate(resolve))
}
collect()
console.log(JSON.stringify([most, used(), kept.length]))
`

/**
 * Calls a function until V8 has compiled the function with its fastest compiler. Prints the number of calls, and
 * 1 if V8 has compiled the function at its first call.
 */
const COMPILED = `
import { setMemberFlags } from './v8-flags.mjs'
if (process.argv[2] === 'early') setMemberFlags()
const FASTEST_COMPILER = 64
const sum = (list) => list[0] + list[1] * list[2] - list[3]
let calls = 0
let total = sum([1, 2, 3, 4])
const early = %ActiveTierIsSparkplug(sum) ? 1 : 0
while (calls < 1_000_000 && (%GetOptimizationStatus(sum) & FASTEST_COMPILER) === 0) {
  for (let i = 0; i < 10; i++) total += sum([calls++, i, 3, 4])
  await new Promise((resolve) => setImmediate(resolve))
}
console.log(JSON.stringify([calls, early, total]))
`

/** Makes young objects, of which some stay alive, so that V8 collects young objects a few hundred times. */
const YOUNG = `
import { setMemberFlags } from './v8-flags.mjs'
if (process.argv[2] === 'one thread') setMemberFlags()
const kept = []
for (let i = 0; i < 8_000_000; i++) kept[i % 50_000] = { i, list: [i, i] }
`

/**
 * Makes arrays that live for several collections of young objects. Prints how many of 1,000 checked arrays were
 * allocated in the old heap. V8 chooses the old heap within the first 100,000 arrays. Node 24 changes the choice
 * back after about two million arrays, so the program makes only one million.
 */
const PLACES = `
import { setMemberFlags } from './v8-flags.mjs'
if (process.argv[2] === 'young') setMemberFlags()
const kept = []
const make = (i) => ({ i, list: [i, i] })
let old = 0
for (let i = 0; i < 1_000_000; i++) {
  const one = make(i)
  kept[i % 100_000] = one
  if (i >= 500_000 && i % 500 === 0 && !%InYoungGeneration(one.list)) old++
}
console.log(JSON.stringify(old))
`

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'latchkey-old-'))
  const entry = fileURLToPath(new URL('./v8-flags.ts', import.meta.url))
  const bundle = { input: entry, output: { entryFileNames: 'v8-flags.mjs' } }
  const how = { outDir: root, ssr: entry, target: 'node20', minify: false, rollupOptions: bundle }
  await build({ configFile: false, logLevel: 'error', build: how })
  await writeFile(join(root, 'main.mjs'), CHILD)
  await writeFile(join(root, 'compiled.mjs'), COMPILED)
  await writeFile(join(root, 'young.mjs'), YOUNG)
  await writeFile(join(root, 'places.mjs'), PLACES)
})
afterAll(() => rm(root, { recursive: true, force: true }))

/**
 * With the first two flags, V8 collects in the program's own thread. So a busy machine does not delay a collection.
 * Without incremental marking, V8 obeys the limit only when the program allocates objects in the old heap.
 */
const OWN_THREAD = ['--single-threaded-gc', '--no-incremental-marking', '--allocation-site-pretenuring']

/** Returns the largest size of the heap divided by the size of the live objects. */
async function growthOf(flags: string[], ...args: string[]): Promise<number> {
  const [most, alive] = await printed('main.mjs', [...OWN_THREAD, ...flags], args)
  return most / alive
}

/** How many calls a function needed until its fastest code, and 1 if the first call compiled it to simple code. */
async function compiledAt(flags: string[], ...args: string[]): Promise<{ calls: number; first: number }> {
  const always = ['--allow-natives-syntax', '--no-concurrent-recompilation']
  const [calls, first] = await printed('compiled.mjs', [...always, ...flags], args)
  return { calls, first }
}

/** How many times V8 has collected young objects, and how many times a thread took part in a collection. */
async function youngCollections(flags: string[], ...args: string[]) {
  const output = await outputOf('young.mjs', ['--trace-gc', '--trace-parallel-scavenge', ...flags], args)
  const count = (what: RegExp) => output.split('\n').filter((line) => what.test(line)).length
  return { collections: count(/ms: Scavenge/), threads: count(/\] scavenge\[/) }
}

/**
 * How many of 1,000 new arrays were in the old heap, in a program whose earlier arrays lived for long. V8 compiles
 * and collects in the program's own thread, so the number does not depend on the speed of the machine.
 */
async function inOldHeap(flags: string[], ...args: string[]): Promise<number> {
  const ownThread = ['--no-concurrent-recompilation', '--single-threaded-gc']
  const always = ['--allow-natives-syntax', '--max-semi-space-size=1', ...ownThread]
  return JSON.parse(await outputOf('places.mjs', [...always, ...flags], args)) as number
}

async function printed(script: string, flags: string[], args: string[]): Promise<[number, number]> {
  return JSON.parse(await outputOf(script, flags, args)) as [number, number]
}

async function outputOf(script: string, flags: string[], args: string[]): Promise<string> {
  const command = [...flags, join(root, script), ...args]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command)
  expect(stderr).toBe('')
  return stdout
}

test('the limit keeps the heap small, unless the user has set such a flag', async () => {
  const [free, given] = [await growthOf([]), await growthOf(['--heap-growing-percent=300'], 'small')]
  expect(await growthOf([], 'small')).toBeLessThan(0.75 * Math.min(free, given))
})

test('a function is compiled at its first call and earlier to fast code, unless the user has set such a flag', async () => {
  const normal = await compiledAt([])
  expect(normal.calls).toBeLessThan(1_000_000)
  expect(normal.first).toBe(0)
  const early = await compiledAt([], 'early')
  expect(early.calls).toBeLessThan(normal.calls)
  expect(early.first).toBe(1)
  expect(await compiledAt(['--no-flush-bytecode'], 'early')).toEqual(normal)
})

test('the main thread alone collects young objects, unless the user has set such a flag', async () => {
  for (const several of [
    await youngCollections([]),
    await youngCollections(['--parallel-scavenge'], 'one thread'),
  ])
    expect(several.threads).toBeGreaterThan(several.collections)
  const alone = await youngCollections([], 'one thread')
  expect(alone.collections).toBeGreaterThan(20)
  expect(alone.threads).toBe(alone.collections)
})

test('new objects are in the young heap, however long earlier objects lived, unless the user has set such a flag', async () => {
  expect(await inOldHeap([])).toBeGreaterThan(900)
  expect(await inOldHeap([], 'young')).toBe(0)
  expect(await inOldHeap(['--allocation-site-pretenuring'], 'young')).toBeGreaterThan(900)
})
