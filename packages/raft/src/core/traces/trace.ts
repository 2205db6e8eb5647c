// Rule: the small language of golden traces: commands in, the effects of the cores out. Each line is a command.
//
//   group a b c [learners d] [key=value ...]   members that know each other, with empty logs; options: pre-vote=no, window=2,
//                                              append-bytes=N, uncommitted=N, snapshots=N
//   join d                                     a member that knows nobody yet
//   state a t=4 vote=b log=1,1,2 applied=2     what a finds on its disk; a starts again from it. after=3/t1: behind a snapshot
//   state-members a voters=a,b outgoing=a,c    and a configuration as the next entry of that log
//   wait a 1000 | wait all 100                 time passes for a, a tick every 10 ms
//   stall a 3000                               time passes for a without a tick
//   timeout a                                  time passes for a until it campaigns
//   deliver [a->b] [N]                         messages on the way: all there are now, those of one way, the first N of them
//   drop [a->b] [N] · dup a->b · hold a->b     lost; doubled; put behind all others
//   cut a b [one-way] · heal                   nothing between them arrives any more
//   sync a [BATCH]                             what a wrote (up to a batch) is durable
//   settle                                     deliver and sync until nothing moves
//   elect a                                    timeout a, settle
//   win a                                      elected, and its first entry not yet anywhere else
//   run 1000                                   time passes for all, and everything arrives at once
//   propose a TEXT · tick-entry a              an entry of the leader
//   change a add-learner|promote|remove ID · change a replace b,c [learners d]
//   read a N · transfer a [b] · gone b a · unreachable a b · compact a N
//   piece a b POSITION OFFSET BYTES [last] · piece-fails a b · installed b POSITION · install-fails b
//   message KIND a->b key=value ...            a message out of nowhere
//   crash a [keep N]                           of its unsynced batches the first N are on disk all the same
//   restart a [no-vote|rebuild] · allow-votes a
//   roll-back a N                              a starts from a copy of its disk that ends at N
//   show [a] · time a · quiet · loud           state; cluster time; hide and show what follows

import { AssertionError } from '@latchkey/base'
import { commands } from './commands.js'
import { Stage } from './stage.js'

const PROMPT = '> '

/**
 * The whole file written again: comments and commands unchanged, each command followed by its current output.
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
