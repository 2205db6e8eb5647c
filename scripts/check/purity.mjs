// Rule: who may touch a clock, chance or the process. Rules never; sources only where they own it and say so.

import { isForTests } from './files.mjs'
import { PURE } from './floors.mjs'
import { lineOf, mask } from './scan.mjs'

export const title = 'purity: no clock, chance or promise where things are decided'

/** Not even by name in a folder that decides: the same trace to the byte each time hangs on it. */
const FORBIDDEN = [
  [/(?<![.\w$])Date\b/g, 'a clock; time is an argument'],
  [/(?<![.\w$])performance\b/g, 'a clock; time is an argument'],
  [/(?<![.\w$])Math\.random\b/g, 'chance; draw from the generator handed in'],
  [
    /(?<![.\w$])Math\.(?:sin|cos|tan|exp|log|log2|log10|pow|sqrt|cbrt|hypot)\b/g,
    'differs in its last bits from machine to machine; use integers',
  ],
  [/(?<![.\w$])(?:crypto|WeakRef|FinalizationRegistry)\b/g, 'not the same twice'],
  [/(?<![.\w$])process\s*[.?[]/g, 'the process; hand in what is needed'],
  [/(?<![.\w$])(?:setTimeout|setInterval|setImmediate|queueMicrotask)\b/g, 'a timer; return it as an effect'],
  [/(?<![.\w$])(?:Promise\b|async\b(?!\s*[:,)=])|await\b)/g, 'waiting; that is what drivers do'],
  [/\bfor\s*\(\s*(?:const|let)\s+\w+\s+in\b/g, 'for…in has no order to rely on; use for…of'],
  [/\.(?:localeCompare|toLocale\w*)\b/g, "depends on the machine's language; compare bytes"],
]

/** Elsewhere in the packages: only through base's ports, or with the reason in a `// clock:` comment above. */
const PORTED = [
  [/(?<![.\w$])(?:Date\.now|performance\.now|new Date\(\))/g, "a clock; take base's Clock"],
  [/(?<![.\w$])Math\.random\b/g, "chance; take base's Random"],
  [/(?<![.\w$])(?:setTimeout|setInterval)\b/g, "a timer; take base's Clock"],
]
const OWNERS = ['packages/base/src/clock.ts']

export function check(files) {
  const problems = []
  for (const path of files.sources()) {
    if (isForTests(path) || !path.startsWith('packages/') || OWNERS.includes(path)) continue
    const pure = Object.keys(PURE).some((folder) => path.startsWith(folder))
    problems.push(...find(files.text(path), path, pure ? FORBIDDEN : PORTED, !pure))
  }
  return { problems }
}

function find(text, path, table, excusable) {
  const { code } = mask(text)
  const lines = text.split('\n')
  const problems = []
  for (const [pattern, reason] of table) {
    for (const match of code.matchAll(pattern)) {
      const line = lineOf(code, match.index)
      if (excusable && isExcused(lines, line)) continue
      const excuse = excusable ? " (or say why in a '// clock: reason' comment above the line)" : ''
      problems.push(`${path}:${line}: '${match[0].trim()}' is ${reason}${excuse}`)
    }
  }
  return problems
}

const isExcused = (lines, line) => /\/\/ clock: \S/.test(`${lines[line - 2] ?? ''}\n${lines[line - 1]}`)
