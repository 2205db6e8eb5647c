// Rule: each package.json says what is true: what the sources import, what a user can import, under which licence.

import { isForTests } from './files.mjs'
import { importsOf } from './scan.mjs'

export const title = 'manifests: package.json files match the sources'

/** Optional peers, of a library or of the package itself, that stand in its manifest only. */
const UNIMPORTED = {
  kv: ['memory-level'],
  latchkey: ['@opentelemetry/api'],
  locks: ['@latchkey/client', '@latchkey/postgres', '@latchkey/redis', '@latchkey/etcd'],
}

export function check(files) {
  const root = files.json('package.json')
  const problems = [...rootProblems(root, files)]
  for (const { folder, manifest } of files.workspaces()) {
    problems.push(...common(folder, manifest, root), ...dependencies(files, folder, manifest))
    if (folder.startsWith('packages/')) problems.push(...published(files, folder, manifest))
  }
  return { problems }
}

function rootProblems(root, files) {
  const problems = []
  for (const { folder } of files.workspaces()) {
    if (!root.workspaces?.includes(folder)) problems.push(`package.json: add '${folder}' to "workspaces"`)
  }
  for (const folder of root.workspaces ?? []) {
    if (!files.has(`${folder}/package.json`))
      problems.push(`package.json: workspace '${folder}' has no package.json`)
  }
  return problems
}

function common(folder, manifest, root) {
  const path = `${folder}/package.json`
  const expected = [
    ['license', manifest.license, root.license],
    ['type', manifest.type, 'module'],
    ['version', typeof manifest.version, 'string'],
  ]
  return expected
    .filter(([, actual, wanted]) => actual !== wanted)
    .map(
      ([field, actual, wanted]) =>
        `${path}: "${field}" is ${JSON.stringify(actual)}, must be ${JSON.stringify(wanted)}`,
    )
}

function published(files, folder, manifest) {
  const path = `${folder}/package.json`
  const problems = []
  if (manifest.engines?.node !== '>=20.19') problems.push(`${path}: "engines.node" must be ">=20.19"`)
  if (manifest.sideEffects !== false) problems.push(`${path}: "sideEffects" must be false`)
  if (!manifest.description) problems.push(`${path}: needs a "description"`)
  if (!manifest.files?.includes('dist')) problems.push(`${path}: "files" must hold "dist"`)
  if (!files.has(`${folder}/tsconfig.json`)) problems.push(`${folder}: needs a tsconfig.json`)
  for (const file of Object.values(manifest.bin ?? {})) {
    if (!files.has(`${folder}/${file.replace(/^\.\//, '')}`))
      problems.push(`${path}: "bin" names ${file}, which is not there`)
  }
  return [...problems, ...exportProblems(files, folder, manifest)]
}

/** Every way in has types before code, and a source that becomes it, by itself or in a bundle. */
function exportProblems(files, folder, manifest) {
  const path = `${folder}/package.json`
  const ways = Object.entries(manifest.exports ?? {})
  if (!ways.some(([way]) => way === '.')) return [`${path}: "exports" needs "."`]
  return ways.flatMap(([way, to]) => {
    if (typeof to === 'string')
      return files.has(`${folder}/${to.slice(2)}`) ? [] : [`${path}: "exports" ${way}: no ${to}`]
    if (Object.keys(to)[0] !== 'types') return [`${path}: "exports" ${way}: "types" must come first`]
    const sourcesOf = (file) =>
      `${folder}/${file?.replace(/^\.\/dist\/(bundle\/)?/, 'src/').replace(/(\.d\.ts|\.js)$/, '.ts')}`
    const gone = [...new Set([to.types, to.default].map(sourcesOf))].filter((source) => !files.has(source))
    return gone.map((source) => `${path}: "exports" ${way}: ${source} is not there`)
  })
}

/** 'ws' of 'ws/lib/x', '@a/b' of '@a/b/c'; undefined for Node's own and for files. */
export function moduleOf(specifier) {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function dependencies(files, folder, manifest) {
  const path = `${folder}/package.json`
  const inside = files.paths.filter(
    (file) => file.startsWith(`${folder}/`) && /\/(src|bin)\/.*\.(ts|js|mjs)$/.test(file),
  )
  const used = new Map()
  for (const file of inside.filter((name) => !isForTests(name))) {
    for (const { specifier, line } of importsOf(files.text(file))) {
      const name = moduleOf(specifier)
      if (name && name !== manifest.name && !used.has(name)) used.set(name, `${file}:${line}`)
    }
  }
  const declared = {
    ...manifest.dependencies,
    ...manifest.optionalDependencies,
    ...manifest.peerDependencies,
  }
  const missing = [...used].filter(
    ([name]) => !(name in declared) && !(name in (manifest.devDependencies ?? {})),
  )
  const allowed = UNIMPORTED[folder.split('/')[1]] ?? []
  const idle = Object.keys(declared).filter((name) => !used.has(name) && !allowed.includes(name))
  return [
    ...missing.map(([name, where]) => `${path}: add '${name}' to "dependencies" (imported at ${where})`),
    ...(folder.startsWith('packages/') ? idle : []).map(
      (name) => `${path}: nothing imports '${name}'; take it out of "dependencies"`,
    ),
  ]
}
