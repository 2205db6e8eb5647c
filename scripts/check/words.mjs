// Rule: words that no commit may hold: tests that do not run, work put off, holes in the types, paths of one machine.

import { isTest } from './files.mjs'
import { lineOf, mask } from './scan.mjs'

export const title = 'words: no skipped test, nothing put off, no hole in the types, no path of one machine'

/** Looked for in code, comments and strings blanked. */
const IN_CODE = [
  [
    /\b(?:it|test|describe|suite|bench)\s*\.\s*(?:skip|only|todo|fails|skipIf|runIf)\b|\b(?:xit|xdescribe|fit|fdescribe)\s*\(/g,
    'a test that does not run; make it run or delete it',
  ],
  [/\bas\s+any\b/g, "a hole in the types; name the type, or 'unknown' and a check"],
]
/** Looked for in comments. */
const IN_COMMENTS = [
  [
    new RegExp(`\\b(?:${['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|')})\\b`, 'g'),
    'work put off; do it, or leave it out and say so in the docs',
  ],
  [/@ts-(?:ignore|nocheck)\b/g, 'a hole in the types; @ts-expect-error with a reason, in a test, at most'],
]
/** Looked for in the whole text of every file of words. */
const machine = ['tmp', 'work', 'root', 'home', 'farm', 'Users'].join('|')
const ANYWHERE = [
  [
    new RegExp(`(?<![\\w.~$})/-])/(?:${machine})/[\\w.-]+`, 'g'),
    'a path of one machine; use os.tmpdir() or a relative path',
  ],
]
const TEXT = /\.(?:ts|mjs|cjs|js|json|md|txt|yml|yaml|sh)$|^\.ci\/|^\.[a-z]+rc$/

export function check(files) {
  const problems = []
  for (const path of files.matching(TEXT)) {
    if (path === 'package-lock.json') continue
    const text = files.text(path)
    problems.push(...find(path, text, text, ANYWHERE))
    if (/\.(?:ts|mjs|cjs|js)$/.test(path)) problems.push(...inCode(path, text))
  }
  return { problems }
}

function inCode(path, text) {
  const { code, comments } = mask(text)
  const said = code.replace(/[^\n]/g, ' ').split('')
  for (const { start, text: words } of comments) said.splice(start, words.length, ...words.split(''))
  const problems = [...find(path, text, code, IN_CODE), ...find(path, text, said.join(''), IN_COMMENTS)]
  const expected = isTest(path)
    ? []
    : find(path, text, said.join(''), [[/@ts-expect-error/g, 'for tests only']])
  return [...problems, ...expected]
}

function find(path, text, searched, table) {
  return table.flatMap(([pattern, reason]) =>
    [...searched.matchAll(pattern)].map(
      (match) => `${path}:${lineOf(text, match.index)}: '${match[0]}' is ${reason}`,
    ),
  )
}
