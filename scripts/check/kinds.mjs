// Rule: every file says in its first line which kind it is.

import { isForTests, isTest } from './files.mjs'
import { mask } from './scan.mjs'

export const title = 'kinds: the first line says Rule, Driver, Door, Types or Test'

export function check(files) {
  const checked = files.matching(/^(packages|test)\/[^/]+\/(src|bin)\/.*\.(ts|js)$|^scripts\/.*\.mjs$/)
  const problems = checked.map((path) => reason(path, files.text(path))).filter(Boolean)
  return { problems }
}

function reason(path, text) {
  const [first = ''] = text.replace(/^#!.*\n/, '').split('\n')
  if (isTest(path))
    return /^\/\/ Test\b.*: \S/.test(first)
      ? undefined
      : `${path}:1: start with '// Test: what is proved here'`
  if (isForTests(path) && /^\/\/ Test\b.*: \S/.test(first)) return undefined
  if (/^\/\/ (Rule|Driver|Door|Types)\b.*: \S/.test(first)) return undefined
  if (path.endsWith('/index.ts') && onlyPassesOn(text)) return undefined
  return `${path}:1: start with '// Rule: ...' (decides), '// Driver: ...' (acts) or '// Door: ...' (bytes to trusted values)`
}

/** Nothing but `export … from` (and `export {}`): such an index decides nothing. */
function onlyPassesOn(text) {
  const { code } = mask(text)
  const left = code.replace(
    /export\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\})(?:\s*from\s*(['"])\s*\1)?/g,
    '',
  )
  return left.replace(/[;\s]/g, '') === ''
}
