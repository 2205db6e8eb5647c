// Driver: turns the arguments of the command line into an exit code. `--version` is handled before any
// command is loaded, because its answer needs no command.

import type { Io } from './command-io.js'
import type { Parts } from './run-command.js'

const VERSION_WORDS: readonly (string | undefined)[] = ['--version', '-V', 'version']

/** Runs `latchkey ARGS` and resolves to the exit code. */
export async function main(args: readonly string[], io: Io, parts: Parts): Promise<number> {
  if (VERSION_WORDS.includes(args[0])) {
    io.out(`${parts.version}\n`)
    return 0
  }
  const { runCommand } = await import('./run-command.js')
  return runCommand(args, io, parts)
}
