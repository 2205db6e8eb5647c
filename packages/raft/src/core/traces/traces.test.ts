// Test: the golden traces. LATCHKEY_REWRITE_TRACES=1 writes the current output into the files; read the
// difference line by line.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { runTrace } from './run-trace.js'

const folder = fileURLToPath(new URL('.', import.meta.url))
const names = readdirSync(folder)
  .filter((name) => name.endsWith('.txt'))
  .sort()

test('there are at least 40 traces, and each says why it exists', () => {
  expect(names.length).toBeGreaterThanOrEqual(40)
  for (const name of names)
    expect(readFileSync(folder + name, 'utf8'), name).toMatch(/^# Why: .+\n(# .+\n)*# See: .+\n/)
})

/**
 * The second comment of a trace lists the scenario ids that the trace covers. They become part of the test's
 * name.
 */
const see = (source: string): string => /^# See: (.+)$/m.exec(source)?.[1] ?? ''

for (const name of names) {
  const source = readFileSync(folder + name, 'utf8')
  test(`${see(source)}: ${name.replace('.txt', '')}`, () => {
    const result = runTrace(source)
    if (process.env.LATCHKEY_REWRITE_TRACES === '1') writeFileSync(folder + name, result)
    else expect(result).toBe(source)
  })
}
