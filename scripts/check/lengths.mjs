// Driver: asks the linter's parser how long each file and function is. Long is allowed with a reason:
// `// long: reason` in a file's first ten lines, or on the line above the function.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isTest } from './files.mjs'

export const title = 'lengths: a file over 400 lines or a function over 60 gives its reason'

const house = fileURLToPath(new URL('../..', import.meta.url))
const config = fileURLToPath(new URL('./lengths.oxlintrc.json', import.meta.url))
const REASON = /^\s*\/\/ long: \S/

export function check(files) {
  const found = ask(files.root)
  const problems = []
  for (const { code, filename, message, labels } of found) {
    const path = filename.replaceAll('\\', '/')
    if (!files.has(path)) continue
    const lines = files.text(path).split('\n')
    const line = labels?.[0]?.span?.line ?? 1
    const excused = code.includes('per-function')
      ? functionExcused(path, lines, line)
      : lines.slice(0, 10).some((text) => REASON.test(text))
    if (!excused)
      problems.push(`${path}:${line}: ${message} Split it by what it does, or give a '// long: reason'`)
  }
  return { problems }
}

/** In a test file a describe, or what stands for one at the margin, holds tests and is no function of length; a single test is. */
function functionExcused(path, lines, line) {
  if (REASON.test(lines[line - 2] ?? '')) return true
  return isTest(path) && /\bdescribe\b|^(?!test\b|it\b)[a-z]\w*\(/.test(lines[line - 1] ?? '')
}

function ask(root) {
  const folders = ['packages', 'test', 'scripts']
  const oxlint = join(house, 'node_modules', 'oxlint', 'bin', 'oxlint')
  const run = spawnSync(
    process.execPath,
    [oxlint, '-c', config, '-f', 'json', '--no-error-on-unmatched-pattern', ...folders],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  )
  if (!run.stdout.startsWith('{')) throw new Error(`oxlint gave no answer: ${run.stderr || run.stdout}`)
  return JSON.parse(run.stdout).diagnostics
}
