// Rule: documents name only what exists: links, headings, paths, npm scripts, error codes. So do comments: documents.

import { posix } from 'node:path'
import { PLACE as API, render as renderApi } from '../api-doc.mjs'
import { PLACE, builtTable, render } from '../errors-doc.mjs'
import { lineOf, mask } from './scan.mjs'

export const title =
  'docs: they name only what exists, their tables are whole, docs/errors.md and docs/api.md are current'

const TOP = /^(?:packages|scripts|test|docs|\.ci)\//

/** @param table the error table; the built one unless a test hands in another. */
export async function check(files, { table } = {}) {
  const errors = table ?? (await builtTable(files.root))
  if (errors === undefined) return { problems: ["packages/protocol is not built: run 'npx tsc -b' first"] }
  const scripts = files.has('package.json') ? (files.json('package.json').scripts ?? {}) : {}
  const problems = files.matching(/\.md$/).flatMap((path) => {
    const lines = numbered(files.text(path))
    return [
      ...lines.flatMap((line) => lineProblems(files, path, line, errors, scripts)),
      ...shapeProblems(path, lines),
    ]
  })
  return {
    problems: [
      ...problems,
      ...commentProblems(files),
      ...tableProblems(files, errors),
      ...apiProblems(files),
    ],
  }
}

/** A document that a comment names is there, from the root of the repository or beside the file. */
function commentProblems(files) {
  return files.matching(/^(?:packages|test|scripts)\/.*\.(?:ts|mjs)$/).flatMap((path) => {
    const text = files.text(path)
    return mask(text).comments.flatMap(({ start, text: said }) =>
      [...said.matchAll(/[\w./-]*\w\.md\b/g)]
        .filter(([name]) => !files.exists(name) && !files.exists(posix.join(posix.dirname(path), name)))
        .map(
          ([name]) =>
            `${path}:${lineOf(text, start + said.indexOf(name))}: the comment names ${name}, which is not there`,
        ),
    )
  })
}

const isRow = ({ text, fenced }) => !fenced && /^\s*\|/.test(text)

/** A table has a line of dashes below its first row, and as many columns in each row. */
function shapeProblems(path, lines) {
  const columns = (line) => line.text.split(/(?<!\\)\|/).length
  return lines.flatMap((line, i) => {
    if (!isRow(line)) return []
    const isFirst = i === 0 || !isRow(lines[i - 1])
    const next = lines[i + 1]
    if (!isFirst) {
      if (columns(line) === columns(lines[i - 1])) return []
      return [`${path}:${line.number}: this row of a table has more or fewer columns than the row above it`]
    }
    if (next !== undefined && isRow(next) && /^[\s|:-]+$/.test(next.text)) return []
    return [`${path}:${line.number}: this table has no line of dashes below its first row`]
  })
}

/** Lines with their numbers; `fenced` inside ``` blocks, where a link or a heading is just text. */
function numbered(text) {
  let fenced = false
  return text.split('\n').map((text, i) => {
    if (/^\s*```/.test(text)) fenced = !fenced
    return { text, number: i + 1, fenced }
  })
}

function lineProblems(files, path, { text, number, fenced }, errors, scripts) {
  const found = [
    ...scriptProblems(text, scripts),
    ...codeProblems(text, errors),
    ...pathProblems(files, path, text),
  ]
  if (!fenced) found.push(...linkProblems(files, path, text))
  return found.map((problem) => `${path}:${number}: ${problem}`)
}

const scriptProblems = (text, scripts) =>
  [...text.matchAll(/\bnpm run ([\w:-]+)/g)]
    .filter(([, name]) => !(name in scripts))
    .map(([, name]) => `package.json has no script '${name}'`)

const codeProblems = (text, errors) =>
  [...text.matchAll(/\bERR_[A-Z_]+\b/g)]
    .filter(([code]) => !(code in errors))
    .map(([code]) => `${code} is not in the error table (packages/protocol/src/errors.ts)`)

/** Paths in backticks that begin with a folder of the house; a part with * or <name> stands for any. */
function pathProblems(files, path, text) {
  const spans = [...text.matchAll(/`([^`]+)`/g)].flatMap(([, span]) => span.split(/\s+/))
  const named = spans.map((name) =>
    name
      .replace(/^\.\//, '')
      .replace(/[:#]\d+$/, '')
      .replace(/\/+$/, ''),
  )
  return named.filter((name) => TOP.test(name) && !isThere(files, name)).map((name) => `no '${name}' here`)
}

function isThere(files, name) {
  if (!/[*<]/.test(name)) return files.exists(name)
  const escaped = name.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  const pattern = escaped.replace(/\*\*\/?|\*|<[^>]*>/g, (part) => (part.startsWith('**') ? '.*' : '[^/]*'))
  return files.paths.some((path) => new RegExp(`^${pattern}(/|$)`).test(path))
}

function linkProblems(files, path, text) {
  const links = [...text.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)[^)]*\)/g)].map(([, to]) => to)
  return links
    .filter((to) => !/^[a-z]+:/.test(to))
    .flatMap((to) => {
      const [file, anchor] = to.split('#')
      const place = file === '' ? path : posix.normalize(posix.join(posix.dirname(path), file))
      if (!files.exists(place)) return [`the link ${to} leads nowhere`]
      if (!anchor || headings(files.text(place)).includes(anchor)) return []
      return [`the link ${to} leads to a heading that is not there`]
    })
}

/** Headings as the anchors that they get. */
export const headings = (text) =>
  numbered(text)
    .filter(({ text, fenced }) => !fenced && /^#+ /.test(text))
    .map(({ text }) =>
      text
        .replace(/^#+ /, '')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replace(/\s/g, '-'),
    )

function tableProblems(files, errors) {
  if (!files.has(PLACE)) return [`${PLACE} is missing: run 'node scripts/errors-doc.mjs'`]
  return unpadded(files.text(PLACE)) === unpadded(render(errors))
    ? []
    : [`${PLACE} is not what the table says: run 'node scripts/errors-doc.mjs'`]
}

/** Only where there is such a page: samples have none. */
function apiProblems(files) {
  if (!files.has(API) || files.text(API) === renderApi(files.root)) return []
  return [`${API} is not what the types say: run 'node scripts/api-doc.mjs'`]
}

/** The formatter may widen the columns of a table; the words are what counts. */
const unpadded = (text) =>
  text
    .replace(/ *\| */g, '|')
    .replace(/-{3,}/g, '---')
    .replace(/ +/g, ' ')
