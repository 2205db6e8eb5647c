// Driver: fills the holes that npm can leave in package-lock.json. A native tool lists one optional package a platform;
// where the registry at hand does not carry some of them, npm leaves these out of the lock it writes, and `npm ci`
// elsewhere then refuses the lock as not matching. Run after an install that changed the lock; the gate
// verifies that nothing is missing. An added entry holds the version and the platform that the package's name tells,
// and no checksum: npm fills it in where it can fetch the package.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { missing } from './check/lockfile.mjs'

const PLATFORM =
  /(android|darwin|freebsd|linux|win32|openharmony|wasm32|netbsd|openbsd|aix|sunos)[-_]?(arm64|x64|arm|ia32|ppc64|riscv64|s390x|loong64)?/

/** A copy of the lock with an entry for each optional dependency. */
export function completed(lock) {
  const added = missing(lock.packages).map((hole) => [`node_modules/${hole.name}`, entryOf(hole)])
  const packages = { ...lock.packages, ...Object.fromEntries(added) }
  const order = Object.entries(packages).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return { ...lock, packages: Object.fromEntries(order) }
}

function entryOf({ name, version, dev }) {
  const entry = { version: version.replace(/^[\^~]/, ''), ...(dev ? { dev } : {}), optional: true }
  const [, os, cpu] = PLATFORM.exec(name) ?? []
  if (os === undefined || os === 'wasm32') return { ...entry, cpu: ['wasm32'] }
  const libc = name.includes('musl') ? ['musl'] : os === 'linux' ? ['glibc'] : undefined
  return { ...entry, os: [os], ...(cpu ? { cpu: [cpu] } : {}), ...(libc ? { libc } : {}) }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const place = new URL('../package-lock.json', import.meta.url)
  const lock = JSON.parse(readFileSync(place, 'utf8'))
  const holes = missing(lock.packages)
  for (const { name, by } of holes) console.log(`adds ${name}, optional for ${by}`)
  if (holes.length > 0) writeFileSync(place, `${JSON.stringify(completed(lock), null, 2)}\n`)
  console.log(`${holes.length} entries were missing`)
}
