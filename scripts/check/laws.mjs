// Rule: the register of ids, docs/laws.md, against the comments and the names of the tests. Each id stands there once; one that is used
// and not there is wrong, and so is a scenario that no test names, or a law that no code names.

import { mask } from './scan.mjs'

export const title =
  'laws: each id of a comment or a test is in docs/laws.md once; each scenario there has a test'

export const REGISTER = 'docs/laws.md'
const SCENARIO = /^[ELMSRDTACK][1-9]/
const ID = /\b(?:[ELMSRDTACKNFWJ]|CT|EN|TR|RW|MA|LS|SW|DL|MK|VA|SV|OP|OB)[1-9][0-9]?\b/g
const OPENER = /(?<![.\w$])(?:test|it|describe)(?:\s*\.\s*\w+)*\s*\([^)'"`]*$/

export function check(files) {
  if (!files.has(REGISTER))
    return { problems: [`${REGISTER} is missing: it lists the laws and scenarios, one '- **E1** …' a line`] }
  const entries = lines(files.text(REGISTER))
  const known = new Map(entries)
  const twice = entries.map(([id]) => id).filter((id, at, all) => all.indexOf(id) !== at)
  const named = names(files)
  const said = comments(files)
  const problems = [
    ...twice.map((id) => `${REGISTER}: ${id} stands there twice; give the second one a number of its own`),
    ...[...named, ...said]
      .filter(([id]) => !known.has(id))
      .map(([id, where]) => `${where}: '${id}' is not in ${REGISTER}; correct it, or add it there`),
  ]
  const scenarios = [...known.keys()].filter((id) => SCENARIO.test(id))
  const open = scenarios.filter((id) => !named.has(id))
  if (open.length > 0)
    problems.push(`no test names ${open.join(' ')} of ${REGISTER}: write it, and put the id into its name`)
  const unused = [...known.keys()].filter((id) => !SCENARIO.test(id) && !said.has(id) && !named.has(id))
  if (unused.length > 0) problems.push(`no code names ${unused.join(' ')} of ${REGISTER}: take it out there`)
  return {
    problems,
    notes: [`${scenarios.length - open.length} of ${scenarios.length} scenarios are named by a test`],
  }
}

/** id and title, of lines such as '- **E1** two votes of one term'. */
export const lines = (text) =>
  [...text.matchAll(/^[-*] \*\*([A-Z]+[0-9]+)\*\* (.+)$/gm)].map(([, id, words]) => [id, words])

/** id -> the first comment that names it. */
function comments(files) {
  const found = new Map()
  for (const path of files.matching(/^(?:packages|test)\/.*\/src\/.*\.ts$/))
    for (const { text } of mask(files.text(path)).comments)
      for (const [id] of text.matchAll(ID)) if (!found.has(id)) found.set(id, path)
  return found
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
  return strings.map(({ text }) => /^((?:[A-Z]+[0-9]+[,/ ]*(?:and )?)+):/.exec(text)?.[1]).filter(Boolean)
}

/** The comment lines that a trace begins with. */
const head = (text) => /^(?:\s*#.*\n)*/.exec(text)?.[0] ?? ''
