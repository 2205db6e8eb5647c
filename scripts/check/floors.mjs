// Rule: who may import whom. Floors between packages, floors inside some of them, rules that import no driver,
// and no circle of files anywhere. Read from the imports themselves.

import { posix } from 'node:path'
import { isForTests } from './files.mjs'
import { importsOf } from './scan.mjs'

export const title = 'floors: who may import whom'

/** What a package may name. `type:` in front: types only. */
export const MAY = {
  base: [],
  protocol: ['base'],
  raft: ['base', 'protocol'],
  lock: ['base', 'protocol'],
  kv: ['base', 'protocol', 'lock', 'type:raft'],
  client: ['base', 'protocol', 'lock'],
  level: ['base', 'protocol'],
  locks: ['base', 'protocol', 'lock'],
  postgres: ['base', 'protocol', 'lock'],
  redis: ['base', 'protocol', 'lock'],
  etcd: ['base', 'protocol', 'lock'],
  daemon: ['base', 'protocol'],
  latchkey: ['base', 'protocol', 'raft', 'lock', 'kv', 'client', 'level', 'daemon'],
}

/** Folders of one package, lowest first; those in one list are neighbours, which never import each other. */
export const INNER = {
  raft: [['core'], ['wal', 'net'], ['node'], ['memory']],
  lock: [['rules'], ['holding'], ['engines']],
  latchkey: [['member'], ['open'], ['http', 'test-cluster'], ['sidecar'], ['cli']],
}

/** Folders that decide: of other packages only what is listed (or all of it: '*'), and nothing of Node's. */
export const PURE = {
  'packages/raft/src/core/': {
    '@latchkey/base': ['assert', 'AssertionError', 'elementAt', 'lastOf', 'unreachable', 'Random'],
  },
  'packages/lock/src/rules/': { '@latchkey/base': '*', '@latchkey/protocol': '*' },
  'packages/kv/src/rules/': { '@latchkey/base': '*', '@latchkey/protocol': '*', '@latchkey/lock': '*' },
}

/** Native or process-bound modules, and the only packages that may name them. */
const HOMES = {
  'classic-level': ['kv'],
  pg: ['postgres'],
  ioredis: ['redis'],
  etcd3: ['etcd'],
  '@opentelemetry/api': ['client'],
  'prom-client': ['daemon'],
  pino: ['daemon'],
  'memory-level': ['kv'],
}

export function check(files) {
  const problems = []
  for (const path of files.sources()) {
    for (const found of importsOf(files.text(path))) {
      const reason = isForTests(path) ? outside(path, found) : refusal(files, path, found)
      if (reason) problems.push(`${path}:${found.line}: imports '${found.specifier}': ${reason}`)
    }
  }
  return { problems: [...problems, ...withoutSource(files), ...circles(files)] }
}

/**
 * Compiled output stays in dist when its source is renamed. So an import of such output works on the machine where
 * the file was renamed, and fails on a clean one.
 */
function* withoutSource(files) {
  for (const path of files.matching(/^(packages|test|scripts)\/.*\.(ts|mjs)$/)) {
    for (const { specifier, line } of importsOf(files.text(path))) {
      if (!/^\.\.?\/.*\bdist\/.*\.js$/.test(specifier)) continue
      const source = target(path, specifier).replace('/dist/', '/src/')
      if (!files.has(source)) yield `${path}:${line}: imports '${specifier}', but there is no ${source}`
    }
  }
}

const packageOf = (path) => path.split('/')[1]
const folderOf = (path) => path.split('/')[3]

/**
 * A test may use any floor, but reaches other packages by their names. Those under test/ run inner parts of the house on
 * simulated ground, which no package offers by name.
 */
function outside(path, { specifier }) {
  if (!specifier.startsWith('.') || path.startsWith('test/')) return undefined
  const home = path.split('/').slice(0, 2).join('/')
  if (target(path, specifier).startsWith(`${home}/`)) return undefined
  return 'it leaves the package by a relative path; name the package instead'
}

function refusal(files, path, found) {
  return (
    outside(path, found) ??
    testOnly(found) ??
    pureRefusal(files, path, found) ??
    (path.startsWith('packages/') ? floorRefusal(path, found) : undefined)
  )
}

const testOnly = ({ specifier }) =>
  specifier === 'vitest' || specifier === 'fast-check' || specifier.endsWith('.test.js')
    ? 'only tests may use it'
    : undefined

const target = (path, specifier) => posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts')

function floorRefusal(path, { specifier, typeOnly }) {
  const own = packageOf(path)
  if (specifier.startsWith('.')) return innerRefusal(own, path, specifier)
  const other = specifier === 'latchkey' ? 'latchkey' : /^@latchkey\/([a-z]+)/.exec(specifier)?.[1]
  if (other === undefined) return homeRefusal(own, specifier)
  const allowed = MAY[own] ?? []
  if (allowed.includes(other) || (typeOnly && allowed.includes(`type:${other}`))) return undefined
  if (allowed.includes(`type:${other}`)) return `${own} may import types of ${other} only (import type)`
  return `${own} may import ${allowed.join(', ') || 'no other package'}; move the code down, or hand it in through a port`
}

function homeRefusal(own, specifier) {
  const homes = HOMES[specifier]
  return homes && !homes.includes(own) ? `it belongs to ${homes.join(', ')} alone` : undefined
}

function innerRefusal(own, path, specifier) {
  const order = INNER[own]
  const from = order?.findIndex((floor) => floor.includes(folderOf(path))) ?? -1
  const other = folderOf(target(path, specifier))
  const to = order?.findIndex((floor) => floor.includes(other)) ?? -1
  if (from < 0 || to < 0 || other === folderOf(path) || to < from) return undefined
  const relation = to === from ? 'its neighbour' : 'a higher floor'
  return `${other}/ is ${relation} of ${folderOf(path)}/ (order: ${order.map((floor) => floor.join('|')).join(' < ')})`
}

function pureRefusal(files, path, { specifier, line, typeOnly }) {
  const folder = Object.keys(PURE).find((prefix) => path.startsWith(prefix))
  if (folder === undefined) return undefined
  if (specifier.startsWith('.')) return impureNeighbour(files, target(path, specifier), folder, typeOnly)
  const allowed = PURE[folder][specifier]
  // Types are no deeds; the floors above them are still judged.
  if (allowed === undefined && typeOnly && specifier.startsWith('@latchkey/') && !folder.includes('/core/'))
    return undefined
  if (allowed === undefined) return `${folder} decides, and may not name it; hand it in as plain data`
  if (allowed === '*') return undefined
  const strange = namesAt(files.text(path), line, specifier).filter((name) => !allowed.includes(name))
  return strange.length > 0
    ? `${folder} may use ${allowed.join(', ')} of it, not ${strange.join(', ')}`
    : undefined
}

/** The core has its own files only; other rules may use what decides or translates elsewhere in their package. */
function impureNeighbour(files, path, folder, typeOnly) {
  if (path.startsWith(folder)) return undefined
  if (folder.includes('/core/')) return `${folder} imports its own files only`
  const decides = typeOnly || !files.has(path) || /^\/\/ (Rule|Door|Types)\b/.test(files.text(path))
  return decides ? undefined : `${folder} decides, and ${path} acts; hand in what it finds`
}

/** The names inside the braces of the import that ends on `line`. */
function namesAt(text, line, specifier) {
  const upTo = text.split('\n').slice(0, line).join('\n')
  const braces = upTo.slice(upTo.lastIndexOf('{') + 1, upTo.lastIndexOf('}'))
  if (!upTo.includes(specifier)) return []
  return braces
    .split(',')
    .map(
      (part) =>
        part
          .trim()
          .replace(/^type /, '')
          .split(' ')[0],
    )
    .filter(Boolean)
}

/**
 * Circles of files, each told once, by depth-first search over the relative imports. Those of types are erased and do no harm
 * but to the reader, who finds no file to begin with: they count too.
 */
function circles(files) {
  const graph = new Map(files.sources().map((path) => [path, neighbours(files, path)]))
  const done = new Set()
  const problems = []
  const visit = (path, trail) => {
    const at = trail.indexOf(path)
    if (at >= 0)
      problems.push(
        `${[...trail.slice(at), path].join(' -> ')}: a circle of imports; move what both need into a third file`,
      )
    if (at >= 0 || done.has(path)) return
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of graph.keys()) visit(path, [])
  return problems
}

const neighbours = (files, path) =>
  importsOf(files.text(path))
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => target(path, specifier))
