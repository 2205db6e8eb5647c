// Test: the code in a README becomes a file that the compiler can check.

import { expect, test } from 'vitest'
import { snippets } from './snippets.mjs'

const README =
  "# x\n\n```ts\nimport { a } from 'a'\n\nawait a(store)\n```\n\n```sh\nls\n```\n\n```ts\nb()\n```\n"

test('each ts block is a file, its imports at the top', () => {
  const files = snippets({ top: README })
  expect(Object.keys(files)).toEqual(['readme-top-1.ts', 'readme-top-2.ts'])
  const [first] = Object.values(files)
  expect(first.indexOf("import { a } from 'a'")).toBeLessThan(first.indexOf('function shown'))
  expect(first.indexOf('await a(store)')).toBeGreaterThan(first.indexOf('function shown'))
})
