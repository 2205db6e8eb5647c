// Driver: owns an empty project outside the repository: installs tarballs into it, type-checks and runs files in it.

import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { ROOT } from './pack.mjs'

const manifestOf = (name) => JSON.parse(readFileSync(join(ROOT, name), 'utf8'))

/** `files`: by name, what stands in them. */
export function project(folder, tarballs, files) {
  mkdirSync(folder, { recursive: true })
  const dependencies = Object.fromEntries(tarballs.map(({ name, file }) => [name, `file:${file}`]))
  const types = { '@types/node': manifestOf('package.json').devDependencies['@types/node'] }
  write(
    'package.json',
    JSON.stringify({ private: true, type: 'module', dependencies, devDependencies: types }),
  )
  for (const [name, text] of Object.entries(files)) write(name, text)

  function write(name, text) {
    writeFileSync(join(folder, name), text)
  }
  function run(command, args, options = {}) {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: folder,
      encoding: 'utf8',
      timeout: 120_000,
      ...options,
    })
    return status === 0
      ? []
      : [`${command} ${args.join(' ')} ended with ${status}: ${(stdout + stderr).trim()}`]
  }
  const bin = (name) => join(folder, 'node_modules', '.bin', name)
  const runFile = (file, env = {}, flags = []) =>
    run(process.execPath, [...flags, file], { env: { ...process.env, ...env } })

  return {
    bin,
    install: (...flags) => run('npm', ['install', '--no-audit', '--no-fund', ...flags]),
    types: () => run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', '.']),
    run: (file, ...flags) => runFile(file, {}, flags),
    command: (name, args) => run(bin(name), args),
    without(pattern) {
      const all = readdirSync(join(folder, 'node_modules'), { recursive: true })
      return all.filter((path) => pattern.test(path)).map((path) => `${path} came along`)
    },
    async againstSidecar(latchkey, names) {
      const port = await freePort()
      const args = ['start', '--id', 'a', '--memory', '--listen', `127.0.0.1:${port}`]
      const sidecar = spawn(latchkey, args, { stdio: 'ignore' })
      try {
        await ready(port)
        return names.flatMap((name) => runFile(name, { ENDPOINT: `ws://127.0.0.1:${port}` }))
      } finally {
        sidecar.kill('SIGKILL')
      }
    },
  }
}

async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function ready(port) {
  for (let tries = 0; tries < 300; tries++) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the sidecar is not ready after 15 s')
}
