// Test: the published test suite of abstract-level, without changes, on a database over a store.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { KeyValueCalls } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { LatchkeyLevel } from './latchkey-level.js'
import { MemoryStore } from './testing/memory-store.js'

const require = createRequire(import.meta.url)
type Row = {
  type: string
  name?: string
  test?: number
  id?: number
  ok?: boolean
  operator?: string
  error?: Error
}
type Rows = { on(name: 'data', run: (row: Row) => void): Rows; on(name: 'end', run: () => void): Rows }
type Harness = { createStream(options: object): Rows } & ((name: string, run: () => void) => void)
const tape = require('tape') as { createHarness(options?: object): Harness }
const suite = require('abstract-level/test') as (options: object) => void

/** Runs it all; the names of its tests, its assertions, and those that failed. */
async function run(factory: (options: object) => unknown) {
  const harness = tape.createHarness()
  const rows = harness.createStream({ objectMode: true })
  const names = new Map<number, string>()
  const failed: string[] = []
  let assertions = 0
  rows.on('data', (row) => {
    if (row.type === 'test') names.set(row.id as number, row.name as string)
    if (row.type !== 'assert') return
    assertions++
    if (!row.ok) failed.push(`${names.get(row.test as number)}: ${row.name}`)
  })
  const over = new Promise<void>((resolve) => rows.on('end', resolve))
  suite({ test: harness, factory })
  await over
  return { tests: names.size, assertions, failed }
}

test("abstract-level's own test suite passes, but for what docs/level.md lists", async () => {
  const store = new MemoryStore() as unknown as KeyValueCalls
  let databases = 0
  const { tests, assertions, failed } = await run(
    (options) => new LatchkeyLevel(store, { ...options, prefix: `db-${++databases}/` }),
  )
  process.stdout.write(
    `abstract-level's suite: ${tests} tests, ${assertions} assertions, ${failed.length} failed, none left out by hand\n`,
  )
  expect(failed).toEqual([])
  expect(tests).toBeGreaterThan(1_000)
  const page = readFileSync(new URL('../../../docs/level.md', import.meta.url), 'utf8')
  expect(page).toContain(`${tests} tests with ${assertions} assertions`)
}, 120_000)
