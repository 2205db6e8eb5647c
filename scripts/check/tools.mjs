// Driver: the checks that other programs make: the compiler, the linter, the formatter.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const BIN = {
  tsc: 'node_modules/typescript/bin/tsc',
  oxlint: 'node_modules/oxlint/bin/oxlint',
  biome: 'node_modules/@biomejs/biome/bin/biome',
}

/** A check that runs one program, shows what it says, and passes when it exits with 0. */
const program = (title, advice, tool, ...args) => ({
  title: `${title}: ${tool} ${args.join(' ')}`.trimEnd(),
  check(files, { stdio = 'inherit' } = {}) {
    const run = spawnSync(process.execPath, [join(files.root, BIN[tool]), ...args], {
      cwd: files.root,
      stdio,
    })
    return {
      problems:
        run.status === 0 ? [] : [`${tool} ended with ${run.status ?? run.signal ?? run.error}; ${advice}`],
    }
  },
})

export const types = program('types', 'correct the types it names above', 'tsc', '-b')
export const lint = program(
  'lint',
  'correct what it names above; a rule is switched off on one line only, with its reason',
  'oxlint',
)
export const format = program('format', "run 'npm run format'", 'biome', 'format')
