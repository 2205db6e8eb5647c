// Test: V8's young heap stays small while a process works, and grows back after V8 has shrunk it for want of work.

import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** Survivors by the hundred thousand, with the loop free now and then; a collection that gives back; the same work again. */
const CHILD = `
import { Session } from 'node:inspector'
import { keepYoungHeapSmall, youngHalf } from './young-heap.mjs'
if (process.argv[2] === 'small') keepYoungHeapSmall()
const sizes = []
let kept = []
for (let part = 0; part < 2; part++) {
  for (let round = 0; round < 60; round++) {
    for (let i = 0; i < 50_000; i++) kept.push({ round, i })
    if (kept.length > 300_000) kept = kept.slice(150_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  sizes.push(youngHalf())
  kept = []
  const session = new Session()
  session.connect()
  for (let i = 0; i < 40 && youngHalf() >= sizes.at(-1); i++) {
    session.post('HeapProfiler.collectGarbage')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  session.disconnect()
  sizes.push(youngHalf())
}
console.log(JSON.stringify(sizes))
`

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'latchkey-young-'))
  const entry = fileURLToPath(new URL('./young-heap.ts', import.meta.url))
  const bundle = { input: entry, output: { entryFileNames: 'young-heap.mjs' } }
  const how = { outDir: root, ssr: entry, target: 'node20', minify: false, rollupOptions: bundle }
  await build({ configFile: false, logLevel: 'error', build: how })
  await writeFile(join(root, 'main.mjs'), CHILD)
})
afterAll(() => rm(root, { recursive: true, force: true }))

/** MiB: after work, after V8 gave back, after work again, and at the end. */
async function sizesOf(flags: string[], ...args: string[]): Promise<number[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, join(root, 'main.mjs'), ...args])
  return (JSON.parse(stdout) as number[]).map((bytes) => bytes / (1024 * 1024))
}

test('by itself it grows beyond 4 MiB a half, kept small it does not; what V8 shrank grows again', async () => {
  const [free] = await sizesOf([])
  expect(free).toBeGreaterThan(4)
  const [first, shrunk, again] = await sizesOf([], 'small')
  expect(first).toBeLessThanOrEqual(4)
  expect(shrunk).toBeLessThan(first as number)
  expect(again).toBeLessThanOrEqual(4)
  expect(again).toBeGreaterThan(2)
}, 60_000)

test('a size that was given is left alone', async () => {
  const [given] = await sizesOf(['--max-semi-space-size=32'], 'small')
  expect(given).toBeGreaterThan(4)
}, 60_000)
