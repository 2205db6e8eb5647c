// Test: the first program of README.md runs exactly as it is written there, prints what README.md says, and
// ends by itself.

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))

test('the first program of README prints what README says', async () => {
  const readme = await readFile(new URL('../../../README.md', import.meta.url), 'utf8')
  const program = /^```ts\n([\s\S]*?)^```$/m.exec(readme)?.[1] ?? ''
  const promised = /^The program prints `([^`]+)`/m.exec(readme)?.[1]
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { cwd: root })
  expect(promised).toMatch(/^token 1/)
  expect(stdout).toBe(`${promised}\n`)
})
