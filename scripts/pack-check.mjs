// Driver: `npm run pack-check`: the packages as people get them. Packs each, judges it (publint, attw), installs all of them into an
// empty project outside the repository, type-checks what the READMEs show, and runs small programs as ESM and through require(). Then
// what an application installs that embeds a store: nothing that only the daemon needs may come along. Then the client alone, without
// optional dependencies: no native module may come along.

import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isJudged } from './pack/judge.mjs'
import { ROOT, packAll } from './pack/pack.mjs'
import { project } from './pack/project.mjs'
import { CLIENT_ONLY, CLIENT_PACKAGES, EMBEDDED, EMBEDDED_PACKAGES, EVERYTHING } from './pack/samples.mjs'
import { snippets } from './pack/snippets.mjs'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-pack-'))
const say = (line) => console.log(line)
const readme = (path) => readFileSync(join(ROOT, path, 'README.md'), 'utf8')
const shown = snippets({
  top: readme('.'),
  latchkey: readme('packages/latchkey'),
  client: readme('packages/client'),
  level: readme('packages/level'),
  locks: readme('packages/locks'),
  postgres: readme('packages/postgres'),
  redis: readme('packages/redis'),
  etcd: readme('packages/etcd'),
})
let problems = []
const note = (what, found) => {
  say(`${found.length === 0 ? '+' : 'x'} ${what}`)
  for (const line of found) say(`  ${line}`)
  problems = [...problems, ...found]
}

try {
  const tarballs = packAll(folder, note)
  for (const { name, file } of tarballs) note(`${name}: publint and attw`, isJudged(file))

  const all = project(join(folder, 'all'), tarballs, { ...EVERYTHING, ...shown })
  note('all packages: install', all.install())
  note(`all packages: types, and what ${Object.keys(shown).length} blocks of the READMEs show`, all.types())
  note('all packages: run as ESM', all.run('smoke.mjs'))
  note('all packages: run through require()', all.run('smoke.cjs'))
  note('all packages: the findings of the first hour', all.run('first-hour.mjs'))
  note('all packages: the command', all.command('latchkey', ['--help']))

  const embedding = tarballs.filter(({ name }) => EMBEDDED_PACKAGES.includes(name))
  const embedded = project(join(folder, 'embedded'), embedding, EMBEDDED)
  note('embedding alone: install', embedded.install())
  note(
    "embedding alone: nothing of the daemon's",
    embedded.without(/(^|\/)(pino|prom-client|daemon|@opentelemetry\/[^/]+)\/package\.json$/),
  )
  note('embedding alone: types of the first hour', embedded.types())
  note(
    'embedding alone: a stack trace names the TypeScript',
    embedded.run('stack.mjs', '--enable-source-maps'),
  )
  note('embedding alone: latchkey start says what to install', embedded.run('start.mjs'))

  const few = tarballs.filter(({ name }) => CLIENT_PACKAGES.includes(name))
  const client = project(join(folder, 'client'), few, CLIENT_ONLY)
  note('the client alone: install --omit=optional', client.install('--omit=optional'))
  note(
    'the client alone: no native module, no Raft',
    client.without(/\.node$|(^|\/)(classic-level|msgpackr-extract|raft|kv)\/package\.json$/),
  )
  note('the client alone: types', client.types())
  note(
    'the client alone: talks to a sidecar, as ESM and through require()',
    await client.againstSidecar(all.bin('latchkey'), ['smoke.mjs', 'smoke.cjs']),
  )
} finally {
  if (process.env.KEEP_PACKED) say(`kept: ${folder} (${readdirSync(folder).join(', ')})`)
  else rmSync(folder, { recursive: true, force: true })
}
say(problems.length === 0 ? 'pack-check: all is well' : `pack-check: ${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1
