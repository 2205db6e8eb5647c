// Driver: `npm run build`, after tsc: makes one bundle of the command with the member that it runs, and one of @latchkey/daemon.
// Node spends about a millisecond on each module of a start, and the command with a member has 500 of them.
//
// Laws
//   - parts that only some commands need are chunks of their own: the version loads no command and no client, and a client command
//     loads no member. Without this: one import of a rule's file in a command brings Raft and the state machine into every command
//   - modules with native code stay outside, and so does @latchkey/daemon, because it is installed only where a member runs
//   - whoever gets the code of other projects in a bundle gets their licences beside it: LICENSES.txt
//   - a chunk has only ASCII characters. Without this: V8 keeps each character of a source in two bytes if one of them is outside
//     of Latin-1, and a member keeps the whole source in its heap
//   - a bundle that is as new as the compiled code is not made again

import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { isCurrent } from '../packages/latchkey/bin/bundle.js'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const DAEMON = '@latchkey/daemon'
/** `bufferutil` and `utf-8-validate` are optional native parts of `ws`, which looks for them at run time. */
const OUTSIDE = [/^classic-level$/, /^bufferutil$/, /^utf-8-validate$/]

/** The sources of our own packages, so that the source maps name the TypeScript. */
const ownSources = (bundled) => ({
  name: 'own sources',
  resolveId(id) {
    const [, name, way] = /^@latchkey\/([a-z]+)(?:\/([a-z-]+))?$/.exec(id) ?? []
    if (name === undefined) return null
    if (id === DAEMON && bundled !== 'daemon') return { id: `${DAEMON}/bundle`, external: true }
    return join(ROOT, 'packages', name, 'src', way ?? '', 'index.ts')
  },
})

/** A source, and what must not be loaded with it. */
const APART = [
  ['latchkey/src/cli/index.ts', ['client/', 'protocol/', 'lock/', 'raft/', 'kv/']],
  [
    'latchkey/src/cli/command-dispatcher.ts',
    ['client/', 'raft/src/node/replica.ts', 'raft/src/wal/', 'raft/src/net/', 'kv/'],
  ],
  ['client/src/index.ts', ['raft/', 'kv/']],
]

const folderOf = (name) => join(ROOT, 'packages', name, 'dist/bundle')

async function bundle(name, entry) {
  const dir = folderOf(name)
  const made = await rolldown({
    input: { index: join(ROOT, 'packages', name, 'src', entry) },
    platform: 'node',
    external: OUTSIDE,
    plugins: [ownSources(name)],
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(`the bundle of ${name}: ${log.message}`)
    },
  })
  rmSync(dir, { recursive: true, force: true })
  const { output } = await made.write({
    dir,
    format: 'esm',
    sourcemap: true,
    charset: 'ascii',
    comments: false,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
  })
  await made.close()
  const chunks = output.filter(({ type }) => type === 'chunk')
  refuseHeavy(chunks)
  const modules = chunks.flatMap((chunk) => Object.keys(chunk.modules))
  writeFileSync(join(dir, 'LICENSES.txt'), licences(modules))
  return output.length
}

function refuseHeavy(chunks) {
  const sourcesOf = ({ modules }) => Object.keys(modules).map((id) => id.replaceAll('\\', '/'))
  for (const [source, apart] of APART) {
    const first = chunks.filter((chunk) => sourcesOf(chunk).some((id) => id.endsWith(`/packages/${source}`)))
    const loaded = new Set(first)
    for (const { imports } of loaded)
      for (const one of chunks) if (imports.includes(one.fileName)) loaded.add(one)
    const heavy = [...loaded]
      .flatMap(sourcesOf)
      .filter((id) => apart.some((name) => id.includes(`/packages/${name}`)))
    if (heavy.length > 0)
      throw new Error(
        `${source} loads ${heavy[0]} and ${heavy.length - 1} more: import them with import() where they are needed`,
      )
  }
}

/** The licence of each package of others whose code is in the bundle. */
function licences(modules) {
  const folders = new Set(
    modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []),
  )
  const texts = [...folders].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
    if (file === undefined) throw new Error(`${name} has no licence file: it cannot be part of a bundle`)
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
  })
  return texts.join(`\n${'-'.repeat(80)}\n\n`)
}

if (!isCurrent()) {
  const started = Date.now()
  try {
    const files = (await bundle('daemon', 'index.ts')) + (await bundle('latchkey', 'cli/index.ts'))
    console.log(`bundled: ${files} files in ${Date.now() - started} ms`)
  } catch (error) {
    // What was refused must not be taken for a bundle that is as new as the code.
    rmSync(folderOf('latchkey'), { recursive: true, force: true })
    throw error
  }
}
