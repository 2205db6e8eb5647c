// Test: which code the command runs: its bundle, unless something was compiled since.

import { copyFileSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const RULE = fileURLToPath(new URL('../packages/latchkey/bin/bundle.js', import.meta.url))
const BUNDLE = 'latchkey/dist/bundle/index.js'
const MODULES = 'latchkey/dist/cli/index.js'

/** The code that is run in a folder of packages with these files, each as old as its number says. */
async function chosen(files) {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-bundle-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [path, time] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), '')
    utimesSync(join(folder, path), time, time)
  }
  const rule = join(folder, 'latchkey/bin/bundle.mjs')
  mkdirSync(dirname(rule), { recursive: true })
  copyFileSync(RULE, rule)
  const { command } = await import(pathToFileURL(rule).href)
  return fileURLToPath(command()).slice(folder.length + 1)
}

const CHECKOUT = { 'latchkey/tsconfig.json': 1, 'latchkey/dist/.tsbuildinfo': 5, 'raft/dist/.tsbuildinfo': 5 }

test('the bundle is run when nothing was compiled since', async () => {
  expect(await chosen({ ...CHECKOUT, [BUNDLE]: 5 })).toBe(BUNDLE)
  expect(await chosen({ ...CHECKOUT, [BUNDLE]: 9, 'docs/README.md': 20 })).toBe(BUNDLE)
})

test('an old bundle hides no code that was compiled since, of whatever package', async () => {
  expect(await chosen({ ...CHECKOUT, [BUNDLE]: 9, 'raft/dist/.tsbuildinfo': 10 })).toBe(MODULES)
  expect(await chosen({ ...CHECKOUT, [BUNDLE]: 9, 'latchkey/dist/.tsbuildinfo': 10 })).toBe(MODULES)
})

test('without a bundle the modules are run', async () => {
  expect(await chosen(CHECKOUT)).toBe(MODULES)
})

test('an installed package has its bundle, whatever other packages beside it are as old as', async () => {
  expect(await chosen({ [BUNDLE]: 5, 'other/dist/.tsbuildinfo': 10 })).toBe(BUNDLE)
})
