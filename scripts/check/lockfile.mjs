// Rule: the lock file is whole: every dependency that an entry names, also an optional one, has an entry, and no entry
// names the place that it was fetched from.

export const title = 'lock: package-lock.json is complete and names no registry'

export function check(files) {
  if (!files.has('package-lock.json')) return { problems: ['package-lock.json is missing: run npm install'] }
  const lock = files.json('package-lock.json')
  const absent = missing(lock.packages).map(
    ({ name, by }) =>
      `package-lock.json: no entry for '${name}', optional for ${by || 'the root'}: run 'node scripts/complete-lock.mjs'`,
  )
  const fetched = Object.entries(lock.packages)
    .filter(([, entry]) => /^https?:/.test(entry.resolved ?? ''))
    .map(
      ([place]) =>
        `package-lock.json: ${place} has a "resolved" address; .npmrc says omit-lockfile-registry-resolved`,
    )
  return { problems: [...absent, ...fetched, ...workspaceProblems(files, lock)] }
}

/** Optional dependencies without an entry: [{ name, version, by, dev }]. */
export function missing(packages) {
  return Object.entries(packages).flatMap(([by, entry]) =>
    Object.entries(entry.optionalDependencies ?? {})
      .filter(([name]) => !isFound(packages, by, name))
      .map(([name, version]) => ({ name, version, by, dev: entry.dev === true })),
  )
}

/** As Node resolves: beside the asker first, then outwards. */
function isFound(packages, by, name) {
  for (let place = by; ; place = outward(place)) {
    if (packages[`${place ? `${place}/` : ''}node_modules/${name}`]) return true
    if (place === '') return false
  }
}

const outward = (place) =>
  place.includes('/node_modules/') ? place.slice(0, place.lastIndexOf('/node_modules/')) : ''

/** npm ci refuses a lock whose copy of a package.json differs from it. */
function workspaceProblems(files, lock) {
  return files.workspaces().flatMap(({ folder, manifest }) => {
    const copy = lock.packages[folder]
    if (!copy) return [`package-lock.json: no entry for workspace ${folder}: run npm install`]
    return ['dependencies', 'devDependencies', 'optionalDependencies']
      .filter((field) => !same(copy[field], manifest[field]))
      .map(
        (field) => `package-lock.json: ${folder} has other "${field}" than its package.json: run npm install`,
      )
  })
}

const sorted = (object) =>
  JSON.stringify(Object.entries(object ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)))
const same = (a, b) => sorted(a) === sorted(b)
