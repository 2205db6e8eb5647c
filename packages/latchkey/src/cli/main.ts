// Driver: turns the arguments of the command line into an exit code. This file answers `--version` itself,
// before a command is loaded.

import type { Io } from './command-io-interface.js'
import type { Parts } from './command-dispatcher.js'

const VERSION_WORDS: readonly (string | undefined)[] = ['--version', '-V', 'version']

export async function main(args: readonly string[], io: Io, parts: Parts): Promise<number> {
  if (VERSION_WORDS.includes(args[0])) {
    io.out(`${parts.version}\n`)
    return 0
  }
  const { runCommand } = await import('./command-dispatcher.js')
  return runCommand(args, io, parts)
}
