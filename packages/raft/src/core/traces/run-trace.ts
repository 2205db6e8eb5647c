// Rule: the language of golden traces: commands in, the effects of the cores out. Each line is a command.
//
//   group a b c [learners d] [key=value ...]   members that know each other, with empty logs; options:
//                                              pre-vote=no, window=2, append-bytes=N,
//                                              uncommitted=N, snapshots=N, kept=N
//   join d                                     a member without a configuration
//   state a t=4 vote=b log=1,1,2 applied=2     sets the disk of a, and starts a again from it.
//                                              after=3/t1: the log begins after a snapshot at 3/t1
//   state-members a voters=a,b outgoing=a,c    adds a configuration as the next entry of that log
//   wait a 1000 | wait all 100                 time passes for a, a tick every 10 ms
//   stall a 3000                               time passes for a without a tick
//   timeout a                                  time passes for a until a campaigns
//   deliver [a->b] [N]                         delivers messages: all, those of one link, the first N
//   drop [a->b] [N] · dup a->b · hold a->b     drops messages; doubles them; puts them after all others
//   cut a b [one-way] · heal                   messages between a and b are dropped; ends all cuts
//   sync a [BATCH]                             the batches that a has written (up to BATCH) are durable
//   settle                                     delivers and syncs until there is nothing left
//   elect a                                    timeout a, then settle
//   win a                                      a is elected; its first entry is on no other member yet
//   run 1000                                   time passes for all members, and every message arrives at once
//   propose a TEXT · tick-entry a              the leader a proposes an entry; one that only carries time
//   change a add-learner|promote|remove ID · change a replace b,c [learners d]
//   read a N · transfer a [b] · gone b a · unreachable a b · compact a N
//   piece a b POSITION OFFSET BYTES [last] · piece-fails a b · installed b POSITION · install-fails b
//   message KIND a->b key=value ...            a message that no member has sent
//   crash a [keep N]                           the first N unsynced batches are on disk all the same
//   restart a [no-vote|rebuild] · allow-votes a
//   roll-back a N                              a starts from an old copy of its disk, whose log ends at N
//   show [a] · time a · quiet · loud           prints the state; cluster time; hides, shows output

import { AssertionError } from '@latchkey/base'
import { commands } from './trace-commands.js'
import { Stage } from './trace-state.js'

const PROMPT = '> '

/**
 * Runs the trace and writes the whole file again: comments and commands as they are, each command followed by
 * its current output.
 */
export function runTrace(source: string): string {
  const stage = new Stage()
  const out: string[] = []
  for (const line of source.split('\n')) {
    if (line.startsWith('#') || line.trim() === '') out.push(line)
    if (!line.startsWith(PROMPT)) continue
    out.push(line, ...runCommand(stage, line.slice(PROMPT.length)))
  }
  return `${out.join('\n').trimEnd()}\n`
}

function runCommand(stage: Stage, text: string): string[] {
  const [name = '', ...words] = text.split('#')[0]?.trim().split(/\s+/) ?? []
  const command = commands[name]
  if (command === undefined) throw new Error(`a trace names an unknown command: ${text}`)
  try {
    command(stage, words)
  } catch (error) {
    if (!(error instanceof AssertionError)) throw error
    stage.say(`broken law: ${error.message}`)
  }
  return stage.take().map((line) => `  ${line}`)
}
