// Driver: finds the command of a command line, runs it, and turns its result into an exit code.

import { didYouMean } from '@latchkey/base'
import { bench } from './bench-command.js'
import { backup, status, transfer } from './status-transfer-backup-commands.js'
import { consoleCommand } from './web-console-command.js'
import { completionCommand } from './shell-completion-command.js'
import { type Command, helpOf, readLine, UsageError } from './command-description-and-parser.js'
import { doctorCommand } from './doctor-command.js'
import { demo } from './demo-command.js'
import { elect } from './elect-command.js'
import { EXIT, exitOf, explain } from './exit-codes.js'
import { Interrupted, type Io } from './command-io-interface.js'
import { del, get, incr, put, scan, watch } from './kv-commands.js'
import { lock } from './lock-command.js'
import { locks, release } from './locks-and-release-commands.js'
import { members } from './members-command.js'
import { type Recover, recoverCommand } from './recover-command.js'
import { type Restore, restoreCommand } from './restore-command.js'
import { semaphore } from './semaphore-command.js'
import { sessions } from './sessions-command.js'
import { txn } from './txn-command.js'
import { type SidecarParts, startCommand } from './start-command.js'

/** Each function loads a module that only some commands need. */
export interface Parts {
  sidecar(): Promise<SidecarParts>
  restore(): Promise<Restore>
  recover(): Promise<Recover>
  version: string
}

export function commandsOf(parts: Parts): readonly Command[] {
  const start = startCommand(() => parts.sidecar())
  const restore = restoreCommand(() => parts.restore())
  const recover = recoverCommand(() => parts.recover())
  const store = [status, get, put, incr, del, scan, watch, txn, lock, semaphore, elect, locks, release]
  const all = [
    start,
    demo,
    doctorCommand(parts.version),
    ...store,
    members,
    sessions,
    consoleCommand,
    transfer,
    backup,
    restore,
    recover,
    bench,
  ]
  return [...all, completionCommand(() => commandsOf(parts))]
}

/** main.ts has already handled `--version`. */
export async function runCommand(args: readonly string[], io: Io, parts: Parts): Promise<number> {
  const commands = commandsOf(parts)
  const [first, ...rest] = args
  if (first === undefined) {
    io.err(overview(commands))
    return EXIT.usage
  }
  const asked = first === 'help' || first === '--help' || first === '-h'
  const name = asked ? rest[0] : first
  if (name === undefined) return say(io, overview(commands))
  const command = commands.find((known) => known.name === name)
  if (command === undefined) {
    const meant = didYouMean(
      name,
      commands.map((known) => known.name),
    )
    io.err(`latchkey: there is no command ${JSON.stringify(name)}${meant}; 'latchkey --help' lists them\n`)
    return EXIT.usage
  }
  return asked || wantsHelp(rest) ? say(io, helpOf(command)) : run(command, rest, io)
}

/** A `--help` after `--` does not count, because it belongs to the command line of another program. */
function wantsHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return (end < 0 ? args : args.slice(0, end)).some((arg) => arg === '--help' || arg === '-h')
}

async function run(command: Command, args: readonly string[], io: Io): Promise<number> {
  try {
    return await command.run(readLine(command, args), io)
  } catch (fault) {
    // After an interruption by the user, the signal decides the exit code, whatever error followed.
    const error = io.interrupted.aborted ? io.interrupted.reason : fault
    const code = exitOf(error)
    if (!(error instanceof Interrupted)) io.err(`latchkey: ${explain(error)}\n`)
    if (error instanceof UsageError)
      io.err(`${usageOf(command)}'latchkey ${command.name} --help' says more\n`)
    return code
  }
}

const usageOf = ({ name, usage }: Command) => `${`usage: latchkey ${name} ${usage}`.trimEnd()}\n`

function say(io: Io, text: string): number {
  io.out(text)
  return EXIT.ok
}

function overview(commands: readonly Command[]): string {
  const list = commands
    .map(({ name, summary }) => `  ${name.padEnd(9)} ${summary.split('. ')[0]?.replace(/\.$/, '')}\n`)
    .join('')
  return `usage: latchkey COMMAND ...\n\n${list}\nTo see a cluster at work, run 'latchkey demo --seconds 15'. 'latchkey COMMAND --help' explains a command with examples.\nDurations: 250ms, 10s, 2m, 1h; a number without a unit means milliseconds.\nExit codes: 0 success, 1 failure, 2 wrong usage, 69 no leader or no member reachable,\n75 lock not free or lost, 78 wrong configuration, 128 + n ended by signal n.\n`
}
