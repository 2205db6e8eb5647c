// Test: a run begins only with a current bundle, and ends with an error if the bundle has changed meanwhile.

import { copyFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Run, type Teller } from './run.js'
import { type BundleModule, watchBundle } from './unchanged-bundle.js'

const MODULE = fileURLToPath(new URL('../../../packages/latchkey/bin/bundle.js', import.meta.url))
const BUNDLE = 'latchkey/dist/bundle/index.js'
const COMPILED = 'raft/dist/.tsbuildinfo'

/** A folder of packages whose code was compiled at second 5, with the real module that judges the bundle. */
async function packages() {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-bench-bundle-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (path: string, seconds: number) => {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, '')
    utimesSync(file, seconds, seconds)
  }
  write('latchkey/tsconfig.json', 1)
  write(COMPILED, 5)
  const copy = join(folder, 'latchkey/bin/bundle.mjs')
  mkdirSync(dirname(copy), { recursive: true })
  copyFileSync(MODULE, copy)
  const module = (await import(pathToFileURL(copy).href)) as BundleModule
  return { write, remove: (path: string) => rmSync(join(folder, path)), watch: () => watchBundle(module) }
}

/** The packages with a bundle of second 6, and the function that checks them again. */
async function begun() {
  const all = await packages()
  all.write(BUNDLE, 6)
  const check = all.watch()
  if (typeof check === 'string') throw new Error(check)
  return { ...all, check }
}

test('a run does not begin without a bundle, or with a bundle that is older than the compiled code', async () => {
  const { write, watch } = await packages()
  expect(watch()).toContain('npm run build')
  write(BUNDLE, 4)
  expect(watch()).toContain('npm run build')
})

test('nothing is compiled during the run: the check passes', async () => {
  const { check } = await begun()
  expect(check).not.toThrow()
})

test.each<[string, (all: Awaited<ReturnType<typeof begun>>) => void]>([
  ['code is compiled', ({ write }) => write(COMPILED, 7)],
  [
    'code is compiled, and the bundle is made again',
    ({ write }) => {
      write(COMPILED, 7)
      write(BUNDLE, 8)
    },
  ],
  ['the bundle is removed', ({ remove }) => remove(BUNDLE)],
])('%s during the run: the check fails', async (_, change) => {
  const all = await begun()
  change(all)
  expect(all.check).toThrow('compiled during this run')
})

const fails = () => {
  throw new Error('compiled during this run')
}

function runOf(only: readonly string[], check: () => void) {
  const tell: Teller = { scene: vi.fn(), row: vi.fn(), fact: vi.fn(), failure: vi.fn() }
  const options = { seconds: 1, quick: true, peers: [], only } as unknown as ConstructorParameters<
    typeof Run
  >[0]
  return { run: new Run(options, {} as never, tell, check), tell }
}

test.each(['everyday', 'stop', 'floor'])(
  'the bundle has changed: the scene %s starts no process',
  async (scene) => {
    const { run, tell } = runOf([scene], fails)
    await expect(run.all()).rejects.toThrow('compiled during this run')
    expect(tell.scene).not.toHaveBeenCalled()
    expect(run.report.systems).toEqual([])
  },
)

test('the bundle has changed in the last scene: the run ends with an error', async () => {
  await expect(runOf([], fails).run.all()).rejects.toThrow('compiled during this run')
  await expect(runOf([], () => {}).run.all()).resolves.toBeUndefined()
})
