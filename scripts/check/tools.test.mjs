// Test: the compiler, the linter and the formatter each refuse a sample, with the settings of this
// repository.

import { readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { sample } from './sample.mjs'
import { format, lint, types } from './tools.mjs'

const house = fileURLToPath(new URL('../..', import.meta.url))
const SETTINGS = ['tsconfig.base.json', '.oxlintrc.json', 'biome.json', '.gitignore']
const BUILT = {
  'package.json': '{\n  "type": "module"\n}\n',
  'tsconfig.json': '{ "files": [], "references": [{ "path": "packages/base" }] }\n',
  'packages/base/tsconfig.json':
    '{ "extends": "../../tsconfig.base.json", "compilerOptions": { "noEmit": true }, "include": ["src"] }\n',
}

/** A house with one file, the settings of this one, and its tools. */
function houseWith(text) {
  const settings = SETTINGS.map((name) => [name, readFileSync(join(house, name), 'utf8')])
  const files = sample({ ...Object.fromEntries(settings), ...BUILT, 'packages/base/src/a.ts': text })
  symlinkSync(join(house, 'node_modules'), join(files.root, 'node_modules'), 'junction')
  return files
}
const problems = ({ check }, text) => check(houseWith(text), { stdio: 'ignore' }).problems

test.each([
  ['types', types, 'export const a: number = Math.abs(1)\n', "export const a: number = 'one'\n"],
  ['types', types, "export type A = 'x' | 'y'\n", 'export enum A {\n  x,\n}\n'],
  [
    'lint',
    lint,
    'export const a = (): Promise<void> => b()\nconst b = async () => {}\n',
    'const b = async () => {}\nexport const a = (): void => {\n  b()\n}\n',
  ],
  ['lint', lint, 'export const a = 1\n', 'export const a: any = 1\n'],
  ['format', format, "export const a = 'x'\n", 'export const a = "x";\n'],
])('%s', (name, tool, good, bad) => {
  expect(problems(tool, good)).toEqual([])
  expect(problems(tool, bad)).toEqual([expect.stringContaining('ended with 1')])
})
