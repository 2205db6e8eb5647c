// Rule: the command `latchkey completion`, which prints a script that lets a shell complete commands and
// options. The script is made from the table of commands, so no command can be missing.

import { type Command, type OptionTable, UsageError, words } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]
const isShell = (name: string | undefined): name is Shell => SHELLS.some((shell) => shell === name)

/** `all` returns all commands, including this one. */
export function completionCommand(all: () => readonly Command[]): Command {
  return {
    name: 'completion',
    usage: 'SHELL',
    summary: 'Print a completion script for bash, zsh or fish.',
    options: {},
    examples: [
      'source <(latchkey completion bash)',
      'source <(latchkey completion zsh)',
      'latchkey completion fish > ~/.config/fish/completions/latchkey.fish',
    ],
    async run(line, io) {
      const [shell] = words(line, 1, 1)
      if (!isShell(shell)) throw new UsageError(`SHELL must be one of ${SHELLS.join(', ')}; got ${shell}`)
      io.out(SCRIPTS[shell](all()))
      return EXIT.ok
    },
  }
}

const namesOf = (commands: readonly Command[]): string => commands.map(({ name }) => name).join(' ')
const optionsOf = (options: OptionTable): string[] =>
  [...Object.keys(options), 'help'].map((name) => `--${name}`)
/** In single quotes, no character except the quote itself has a special meaning for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const SCRIPTS: Readonly<Record<Shell, (commands: readonly Command[]) => string>> = {
  bash: (commands) => bash(commands),
  // With its module bashcompinit, zsh can run the script for bash.
  zsh: (commands) => `autoload -U +X bashcompinit && bashcompinit\n${bash(commands)}`,
  fish: (commands) => fish(commands),
}

function bash(commands: readonly Command[]): string {
  const cases = commands.map(({ name, options }) => `    ${name}) words="${optionsOf(options).join(' ')}" ;;`)
  return `_latchkey() {
  local words
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  [ "$COMP_CWORD" -le 1 ] && words="${namesOf(commands)} --help --version"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _latchkey latchkey
`
}

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap(({ name, summary, options }) => [
    `complete -c latchkey -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ...Object.entries(options).map(
      ([option, { help }]) =>
        `complete -c latchkey -n '__fish_seen_subcommand_from ${name}' -l ${option} -d ${quoted(help)}`,
    ),
  ])
  return `${lines.join('\n')}\n`
}
