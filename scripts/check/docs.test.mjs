// Test: a document that names a missing link, path, script or error code is refused.

import { expect, test } from 'vitest'
import { render } from '../errors-doc.mjs'
import { check, headings } from './docs.mjs'
import { sample } from './sample.mjs'

const row = { retryable: true, outcome: 'not-applied', message: 'Wait.', fields: ['key'] }
/** With those that the text of docs/errors.md names itself. */
const named = ['ERR_ABORTED', 'ERR_NOT_OWNER', 'ERR_NOT_A_NUMBER', 'ERR_UNDECODABLE', 'ERR_NO_LEADER']
const table = { ERR_BUSY: row, ...Object.fromEntries(named.map((code) => [code, row])) }
const house = {
  'package.json': { scripts: { check: 'x' } },
  'docs/errors.md': render(table),
  'docs/design.md': '# The design\n\n## One idea, two words\n',
  'packages/base/src/a.ts': '',
  // Named by docs/errors.md itself.
  'packages/protocol/src/errors.ts': '',
  'scripts/errors-doc.mjs': '',
}
const problems = async (texts) => (await check(sample({ ...house, ...texts }), { table })).problems

test.each([
  ['[x](docs/gone.md)', 'leads nowhere'],
  ['[x](docs/design.md#two-ideas)', 'a heading that is not there'],
  ['[x](#nowhere)', 'a heading that is not there'],
  ['see `packages/base/src/b.ts`', "no 'packages/base/src/b.ts'"],
  ['see `packages/*/src/b.ts`', "no 'packages/*/src/b.ts'"],
  ['run `npm run chekc`', "no script 'chekc'"],
  ['```\nnpm run chekc\n```', "no script 'chekc'"],
  ['| a | b |\n| 1 | 2 |', 'no line of dashes'],
  ['| a | b |', 'no line of dashes'],
  ['fails with `ERR_BUSSY`', 'ERR_BUSSY is not in the error table'],
])('%j is refused', async (text, message) => {
  expect(await problems({ 'README.md': text })).toEqual([expect.stringMatching(/^README\.md:[12]: /)])
  expect((await problems({ 'README.md': text }))[0]).toContain(message)
})

test.each([
  '[x](docs/design.md#one-idea-two-words) [y](https://example.org/a) [z](packages/base)',
  'see `packages/base/src/a.ts:12`, `packages/*/src/`, `packages/<name>/src/a.ts`, `a/b`',
  '| a \\| b | c |\n| --- | ---: |\n| 1 | 2 |\n\n```\n| 1 |\n```',
  'run `npm run check`, meet `ERR_BUSY`',
  '`[x](nowhere.md)`\n```\n[x](nowhere.md)\n```',
])('%j passes', async (text) => {
  expect(await problems({ 'README.md': text })).toEqual([])
})

test('each row of a table has as many columns as the row above', async () => {
  expect(await problems({ 'README.md': '| a | b |\n| --- | --- |\n| 1 | 2 |\n| 1 |' })).toEqual([
    'README.md:4: this row of a table has more or fewer columns than the row above it',
  ])
})

test('a comment names a document that is there', async () => {
  const path = 'packages/base/src/a.ts'
  expect(await problems({ [path]: "// As docs/design.md has it.\nconst a = 'gone.md'" })).toEqual([])
  expect(await problems({ [path]: '\n// As FAULTS.md has it.' })).toEqual([
    `${path}:2: the comment names FAULTS.md, which is not there`,
  ])
})

test('docs/errors.md must be what the table says, both ways', async () => {
  const more = {
    ...table,
    ERR_CLOSED: { retryable: false, outcome: 'not-applied', message: 'Closed.', fields: [] },
  }
  expect(await problems({ 'docs/errors.md': render(more) })).toContainEqual(
    expect.stringContaining('is not what the table says'),
  )
  const without = sample({ 'README.md': '' })
  expect((await check(without, { table })).problems).toEqual([
    expect.stringContaining('docs/errors.md is missing'),
  ])
})

test('a table with wider columns says the same', async () => {
  const wide = render(table).replaceAll('|---|', '| ------ |').replaceAll(' | yes | ', '   | yes       | ')
  expect(wide).not.toBe(render(table))
  expect(await problems({ 'docs/errors.md': wide })).toEqual([])
})

test('a link from a folder is relative to it', async () => {
  expect(await problems({ 'docs/a.md': '[x](design.md) [y](../README.md)', 'README.md': '' })).toEqual([])
})

test('headings become anchors', () => {
  expect(headings('# A `b`: c!\n```\n# no\n```\n## d_e-f')).toEqual(['a-b-c', 'd_e-f'])
})
