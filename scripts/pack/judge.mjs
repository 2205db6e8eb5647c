// Driver: publint and attw over one tarball. The packages are ESM alone, which require() takes since Node 20.19; so attw judges
// with that profile.

import { spawnSync } from 'node:child_process'
import { ROOT } from './pack.mjs'

const run = (command, ...args) => {
  const { status, stdout, stderr } = spawnSync('npx', ['--no-install', command, ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return status === 0 ? [] : [`${command}: ${(stdout + stderr).trim()}`]
}

export const isJudged = (file) => [
  ...run('publint', 'run', file, '--strict'),
  ...run('attw', file, '--profile', 'esm-only', '--format', 'ascii', '--no-emoji'),
]
