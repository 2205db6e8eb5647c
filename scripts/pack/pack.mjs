// Driver: `npm pack` of every package, and what must be in it.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const NEEDED = ['LICENSE', 'README.md', 'package.json', 'dist/index.js', 'dist/index.d.ts']
/** The packages with a bundle beside their modules, and what it needs to have (scripts/bundle.mjs). */
const BUNDLED = ['latchkey', '@latchkey/daemon']
const BUNDLE = ['dist/bundle/index.js', 'dist/bundle/index.js.map', 'dist/bundle/LICENSES.txt']
const STRAY = /\.test\.|(^|\/)testing\/|\.tsbuildinfo$|^src\/(?!.*\.ts$)/

export function packAll(destination, note) {
  return readdirSync(join(ROOT, 'packages')).map((short) => {
    const folder = join(ROOT, 'packages', short)
    const out = execFileSync('npm', ['pack', '--json', '--pack-destination', destination], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [packed] = JSON.parse(out)
    const names = packed.files.map(({ path }) => path)
    note(`${packed.name}: ${names.length} files, ${Math.ceil(packed.size / 1024)} KiB`, faults(folder, names))
    return { name: packed.name, file: join(destination, packed.filename) }
  })
}

function faults(folder, names) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const stale = names.filter(
    (name) => name.startsWith('dist/') && !isBundled(name) && !existsSync(join(folder, sourceOf(name))),
  )
  const needed = BUNDLED.includes(manifest.name) ? [...NEEDED, ...BUNDLE] : NEEDED
  return [
    ...needed.filter((name) => !names.includes(name)).map((name) => `${name} is missing`),
    ...names.filter((name) => STRAY.test(name)).map((name) => `${name} does not belong into it`),
    ...names
      .filter(isCode)
      .flatMap((name) =>
        [`${name}.map`, sourceOf(name)]
          .filter((needed) => !names.includes(needed))
          .map((needed) => `${needed} is missing: a stack trace could not name the line in the source`),
      ),
    ...stale.map((name) => `${name} has no source any more: delete dist and build again`),
    ...(readFileSync(join(folder, 'README.md'), 'utf8').includes(manifest.name)
      ? []
      : ['README.md does not name the package']),
  ]
}

const sourceOf = (name) => name.replace(/^dist\//, 'src/').replace(/(\.d\.ts|\.js)(\.map)?$/, '.ts')
const isBundled = (name) => name.startsWith('dist/bundle/')
const isCode = (name) => /^dist\/.*\.js$/.test(name) && !isBundled(name)
