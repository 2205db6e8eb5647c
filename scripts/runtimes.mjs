// Driver: `npm run check:runtimes`: the packed packages under Node 20, 22 and 24, Bun and Deno, and as pnpm and yarn install them. It
// fetches each by npx, so it is no part of CI. docs/runtimes.md says what was seen.

import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open } from 'latchkey'
import { ROOT, packAll } from './pack/pack.mjs'
import { EMBEDDED_PACKAGES } from './pack/samples.mjs'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-runtimes-'))
const port = await new Promise((resolve) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const at = server.address().port
    server.close(() => resolve(at))
  })
})
const ENDPOINT = `ws://127.0.0.1:${port}`
const REQUIRE = `const { open } = require('latchkey')
open({ id: 'a', memory: true }).then((store) => store.put('k', 'v').then(() => store.close()))\n`

/** What these tools keep for another time goes with the folder; what npx has fetched stays. */
const caches = Object.fromEntries(
  [
    'XDG_DATA_HOME',
    'XDG_CACHE_HOME',
    'XDG_STATE_HOME',
    'YARN_CACHE_FOLDER',
    'YARN_GLOBAL_FOLDER',
    'DENO_DIR',
  ].map((name) => [name, join(folder, name)]),
)

/** [code, output] */
const run = (cwd, command, ...args) =>
  new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...caches, ENDPOINT },
      timeout: 180_000,
    })
    let out = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (out += text))
    child.once('close', (code) => resolve([code, out.replace(/^npm warn .*\n?/gm, '').trim()]))
    child.once('error', (error) => resolve([1, error.message]))
  })

let problems = 0
function tell(what, [code, out]) {
  if (code !== 0) problems++
  console.log(
    `${code === 0 ? '+' : 'x'} ${what}: ${code === 0 ? (out.split('\n').at(-1) ?? '') : out.slice(-600)}`,
  )
}

/** A project with these dependencies. */
function project(name, manifest, files = {}) {
  const place = join(folder, name)
  mkdirSync(place)
  writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, type: 'module', ...manifest }))
  for (const [file, text] of Object.entries(files)) writeFileSync(join(place, file), text)
  cpSync(join(ROOT, 'scripts/pack/runtime-program.mjs'), join(place, 'program.mjs'))
  writeFileSync(join(place, 'program.cjs'), REQUIRE)
  return place
}

async function tryAll(what, place, runtime, ...parts) {
  tell(`${what}: ${parts.join(', ')}`, await run(place, ...runtime, 'program.mjs', ...parts))
  tell(`${what}: require`, await run(place, ...runtime, 'program.cjs'))
}

const member = await open({ id: 'a', memory: true, members: { a: ENDPOINT } })
try {
  await member.ready()
  const packed = packAll(folder, () => {}).filter(({ name }) => EMBEDDED_PACKAGES.includes(name))
  const files = Object.fromEntries(packed.map(({ name, file }) => [name, `file:${file}`]))
  const latchkey = { latchkey: files.latchkey }

  const npm = project('npm', { dependencies: files })
  tell('npm: install', await run(npm, 'npm', 'install', '--no-audit', '--no-fund'))
  await tryAll('this Node', npm, [process.execPath], 'one', 'three', 'client')
  for (const version of [20, 22, 24])
    await tryAll(`Node ${version}`, npm, ['npx', '-y', `node@${version}`], 'one', 'three', 'client')
  // A member with a port does not run on Bun: docs/runtimes.md.
  await tryAll('Bun', npm, ['npx', '-y', 'bun'], 'one', 'client')
  await tryAll('Deno', npm, ['npx', '-y', 'deno', 'run', '-A'], 'one', 'three', 'client')

  // Prebuilt binaries come with the packages: no build script has to run.
  const overrides = Object.entries(files).map(([name, file]) => `  '${name}': '${file}'\n`)
  const settings = `overrides:\n${overrides.join('')}strictDepBuilds: false\n`
  const pnpm = project('pnpm', { dependencies: latchkey }, { 'pnpm-workspace.yaml': settings })
  tell('pnpm: install', await run(pnpm, 'npx', '-y', 'pnpm', 'install'))
  await tryAll('as pnpm installs it', pnpm, [process.execPath], 'one', 'three', 'client')

  // yarn asks the registry for an optional module of every platform, which a mirror may not carry: an empty one stands for all of them.
  const empty = join(folder, 'empty')
  mkdirSync(empty)
  writeFileSync(join(empty, 'package.json'), '{"name":"msgpackr-extract","version":"3.0.7"}')
  const resolutions = { ...files, 'msgpackr-extract': `file:${empty}` }
  for (const [name, ...yarn] of [
    ['yarn 1', 'yarn@1.22.22'],
    ['yarn 4', '-p', '@yarnpkg/cli-dist', 'yarn'],
  ]) {
    const more = { '.yarnrc.yml': 'nodeLinker: node-modules\n', 'yarn.lock': '' }
    const place = project(name.replace(' ', ''), { dependencies: latchkey, resolutions }, more)
    tell(`${name}: install`, await run(place, 'npx', '-y', ...yarn, 'install'))
    await tryAll(`as ${name} installs it`, place, [process.execPath], 'one', 'three', 'client')
  }
} finally {
  await member.close()
  rmSync(folder, { recursive: true, force: true })
}
console.log(problems === 0 ? 'check:runtimes: all is well' : `check:runtimes: ${problems} problems`)
process.exitCode = problems === 0 ? 0 : 1
