// Test: the flags of V8 in a process that runs only a member. V8 collects its heap of old objects when the
// heap has grown by half, if V8 supports the flag (Node 20). A function is compiled to simple machine code at its
// first call, and to fast code after fewer calls. Flags that the user has set stay.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { obeysGrowingPercent } from './v8-flags.js'

/**
 * Objects that grow old and are replaced: what the heap comes to at the most, and what is alive in the end,
 * in MiB.
 */
const CHILD = `
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { setMemberFlags } from './v8-flags.mjs'
if (process.argv[2] === 'small') setMemberFlags()
const used = () => getHeapStatistics().used_heap_size / (1024 * 1024)
const kept = Array.from({ length: 400_000 }, (_, i) => ({ i, text: [i] }))
let most = 0
for (let round = 0; round < 400; round++) {
  for (let i = 0; i < 20_000; i++) kept[(round * 20_000 + i) % kept.length] = { i, text: [i] }
  if (round > 100) most = Math.max(most, used())
  await new Promise((resolve) => setImmediate(resolve))
}
setFlagsFromString('--expose-gc')
runInNewContext('gc')()
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

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'latchkey-old-'))
  const entry = fileURLToPath(new URL('./v8-flags.ts', import.meta.url))
  const bundle = { input: entry, output: { entryFileNames: 'v8-flags.mjs' } }
  const how = { outDir: root, ssr: entry, target: 'node20', minify: false, rollupOptions: bundle }
  await build({ configFile: false, logLevel: 'error', build: how })
  await writeFile(join(root, 'main.mjs'), CHILD)
  await writeFile(join(root, 'compiled.mjs'), COMPILED)
})
afterAll(() => rm(root, { recursive: true, force: true }))

/** How many times as much as is alive the heap came to. */
async function growthOf(flags: string[], ...args: string[]): Promise<number> {
  const [most, alive] = await printed('main.mjs', flags, args)
  return most / alive
}

/** How many calls a function needed until its fastest code, and 1 if the first call compiled it to simple code. */
async function compiledAt(flags: string[], ...args: string[]): Promise<{ calls: number; first: number }> {
  const always = ['--allow-natives-syntax', '--no-concurrent-recompilation']
  const [calls, first] = await printed('compiled.mjs', [...always, ...flags], args)
  return { calls, first }
}

async function printed(script: string, flags: string[], args: string[]): Promise<[number, number]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    ...flags,
    join(root, script),
    ...args,
  ])
  expect(stderr).toBe('')
  return JSON.parse(stdout) as [number, number]
}

/**
 * Marking goes on beside, in a thread that a busy machine may not let run while the heap grows: then it is
 * tried again.
 */
const MOST_TRIES = 6

test('by itself it grows far beyond what is alive, kept small by about half; what was given is left alone', async () => {
  const [free, given] = [await growthOf([]), await growthOf(['--heap-growing-percent=300'], 'small')]
  const enough = obeysGrowingPercent() ? 0.75 * Math.min(free, given) : 2 * Math.max(free, given)
  let small = await growthOf([], 'small')
  for (let tries = 1; small >= enough && tries < MOST_TRIES; tries++) small = await growthOf([], 'small')
  expect(small).toBeLessThan(enough)
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
