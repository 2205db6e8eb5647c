// Test: the scanner recognises comments, strings, templates and regular expressions, whatever they contain.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { importsOf, mask } from './scan.mjs'

const names = (text) =>
  importsOf(text).map(({ specifier, typeOnly }) => (typeOnly ? `type ${specifier}` : specifier))

test.each([
  ["import { a } from './a.js'", ['./a.js']],
  ["import a, { type B } from './a.js'", ['./a.js']],
  ["import type { A } from './a.js'", ['type ./a.js']],
  ["import { type A, type B } from './a.js'", ['type ./a.js']],
  ["import { type A, b } from './a.js'", ['./a.js']],
  ["import type from './a.js'", ['./a.js']],
  ["import * as all from 'ws'", ['ws']],
  ["import './effect.js'", ['./effect.js']],
  ["export * from './a.js'\nexport { b } from './b.js'", ['./a.js', './b.js']],
  ["export type { A } from './a.js'", ['type ./a.js']],
  ["import {\n  a,\n  b,\n} from './many.js'", ['./many.js']],
  ["const m = await import('./late.js')", ['./late.js']],
  ["const m = require('./old.cjs')", ['./old.cjs']],
  ["// import { a } from './comment.js'", []],
  ["/* import { a } from './comment.js' */", []],
  ['const s = "import { a } from \'./string.js\'"', []],
  ["const s = `import { a } from './template.js' ${b}`", []],
  ["const s = `${(() => { return { a: 1 } })()} text`\nimport { a } from './after.js'", ['./after.js']],
  ["const r = /import { a } from '.\\/regex.js'/\nimport { b } from './b.js'", ['./b.js']],
  ["const r = /['\"`]/\nimport { b } from './b.js'", ['./b.js']],
  ["const r = /[/'\"]/.test(x) // it's\nimport { b } from './b.js'", ['./b.js']],
  ["const half = a / b; const c = d / e\nimport { b } from './b.js'", ['./b.js']],
  ["const it = 'it\\'s'\nimport { b } from './b.js'", ['./b.js']],
  ["Array.from('abc')\nstore.import('x')", []],
  ["export const from = 'x'\nexport function f() { return 'y' }", []],
])('%j names %j', (text, expected) => {
  expect(names(text)).toEqual(expected)
})

test('masking keeps every offset and every line', () => {
  const text = 'const a = `x${1 + `y${2}`}z` // c\nconst b = /q\\/[/]/g /* d\n e */ + "s"\n'
  const { code, comments, strings } = mask(text)
  expect(code).toBe('const a = ` ${1 + ` ${2}`} `     \nconst b = /      /g     \n      + " "\n')
  expect(code).toHaveLength(text.length)
  expect(comments.map(({ text }) => text)).toEqual(['// c', '/* d\n e */'])
  expect(strings.map(({ text }) => text)).toContain('s')
})

test('the checks themselves are read to their last line', () => {
  const here = fileURLToPath(new URL('.', import.meta.url))
  for (const name of readdirSync(here)) {
    if (!name.endsWith('.mjs')) continue
    const text = readFileSync(here + name, 'utf8')
    expect(mask(text).code, name).toHaveLength(text.length)
  }
})
