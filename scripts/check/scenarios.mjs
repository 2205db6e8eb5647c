// Rule: the register of what can go wrong, docs/scenarios.md, against the names of the tests. A test that names an id
// not in the register is wrong, and so is an id that no test names.

import { mask } from './scan.mjs'

export const title = 'scenarios: each id of docs/scenarios.md is named by a test'

export const REGISTER = 'docs/scenarios.md'
const ID = /\b[ELMSRDTACK][1-9][0-9]?\b/g
const OPENER = /(?<![.\w$])(?:test|it|describe)(?:\s*\.\s*\w+)*\s*\([^)'"`]*$/

export function check(files) {
  if (!files.has(REGISTER))
    return { problems: [`${REGISTER} is missing: it lists the scenarios, one '- **E1** …' a line`] }
  const known = register(files.text(REGISTER))
  const named = names(files)
  const problems = [...named]
    .filter(([id]) => !known.has(id))
    .map(([id, where]) => `${where}: '${id}' is not in ${REGISTER}; correct the name, or add the scenario`)
  const open = [...known.keys()].filter((id) => !named.has(id))
  if (open.length > 0)
    problems.push(`no test names ${open.join(' ')} of ${REGISTER}: write it, and put the id into its name`)
  return { problems, notes: [`${known.size - open.length} of ${known.size} scenarios are named by a test`] }
}

/** id -> title, of lines such as '- **E1** two votes of one term'. */
export function register(text) {
  return new Map(
    [...text.matchAll(/^[-*] \*\*([A-Z][0-9]+)\*\* (.+)$/gm)].map(([, id, words]) => [id, words]),
  )
}

/** id -> the first place that names it: titles of tests, heads of trace files, names of the simulator's scenarios. */
function names(files) {
  const found = new Map()
  const add = (path, texts) => {
    for (const text of texts) for (const [id] of text.matchAll(ID)) if (!found.has(id)) found.set(id, path)
  }
  for (const path of files.matching(/\.test\.(ts|mjs)$/)) {
    if (!path.startsWith('scripts/')) add(path, titles(files.text(path)))
  }
  for (const path of files.matching(/\/(traces|testdata)\/.*\.txt$/)) add(path, [head(files.text(path))])
  for (const path of files.matching(/^test\/(sim|chaos)\/src\/.*\.ts$/)) add(path, labels(files.text(path)))
  return found
}

/** The first string behind test(, it( or describe(, and the label of each row of a table, before its colon. */
export function titles(text) {
  const { code, strings } = mask(text)
  const opened = strings.filter(({ start }) => OPENER.test(code.slice(Math.max(0, start - 120), start)))
  return [...opened.map(({ text }) => text), ...labels(text)]
}

/** Strings that begin with ids and a colon: 'E5, E6: no vote …'. */
function labels(text) {
  const { strings } = mask(text)
  return strings.map(({ text }) => /^((?:[A-Z][0-9]+[,/ ]*(?:and )?)+):/.exec(text)?.[1]).filter(Boolean)
}

/** The comment lines that a trace begins with. */
const head = (text) => /^(?:\s*#.*\n)*/.exec(text)?.[0] ?? ''
