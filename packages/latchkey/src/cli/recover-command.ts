// Driver: `latchkey recover`, which makes a backup from the directory of a member whose cluster has lost its
// majority for ever. The command prints which data may be lost, and does nothing until the user has confirmed
// the loss.

import type { RecoveredMember, RecoverOptions } from '../open/index.js'
import { type Command, flag, text, UsageError, words } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import { jsonLine, paint, printable } from './print-values.js'
import { Progress } from './progress-display.js'
import { JSON_OPTION } from './store-connection-of-command.js'

export type Recover = (path: string, options: RecoverOptions) => Promise<RecoveredMember>

const MAY_BE_LOST = `Every write that this member does not have is lost, even if the cluster acknowledged it. A write without an
acknowledgement may have happened. All sessions end, and so do their keys and their places in queues.`

/** `load` loads the native code of LevelDB, which the help of the command does not need. */
export const recoverCommand = (load: () => Promise<Recover>): Command => ({
  name: 'recover',
  usage: 'FILE --dir PATH --writes-may-be-lost',
  summary:
    'Make a backup from the directory of a stopped member, if the cluster has lost its majority for ever. Then run `latchkey restore` with this backup.',
  notes: `${MAY_BE_LOST}
The command only reads the directory, and its member must not run. It needs space for a copy of the directory beside FILE.
If several members survive, run the command for each of them. Then restore from the backup with the largest term, and with
the largest index if the terms are equal.`,
  options: {
    dir: { type: 'string', value: 'PATH', help: 'the directory of the surviving member' },
    'writes-may-be-lost': {
      type: 'boolean',
      help: 'confirm that writes may be lost; without this option, the command does nothing',
    },
    force: { type: 'boolean', help: 'replace FILE if it exists' },
    ...JSON_OPTION,
  },
  examples: ['latchkey recover ./left.backup --dir /var/lib/latchkey/a --writes-may-be-lost'],
  async run(line, io) {
    const [file = ''] = words(line, 1, 1)
    const dir = text(line, 'dir')
    if (dir === undefined) throw new UsageError('recover needs --dir, the directory of the surviving member')
    if (!flag(line, 'writes-may-be-lost'))
      throw new UsageError(
        `recover is only for a cluster that has lost its majority for good. If enough members can come back, start these members instead. ${MAY_BE_LOST.replaceAll('\n', ' ')} Nothing was done. To continue, add --writes-may-be-lost`,
      )
    const recover = await load()
    const progress = new Progress(io)
    const found = await progress.during(
      () => `${dir} is being recovered, ${progress.seconds} s`,
      () => recover(file, { dir, overwrite: flag(line, 'force') }),
    )
    io.out(flag(line, 'json') ? jsonLine({ file, ...found }) : resultText(file, found, io.colours))
    return EXIT.ok
  },
})

function resultText(file: string, found: RecoveredMember, colours: boolean): string {
  const { id, clusterId, term, index, fromLog, voters } = found
  const others = voters.filter((one) => one !== id)
  return `${file} has the state of member ${printable(id)} of cluster ${printable(clusterId)}: term ${term}, index ${index}; ${fromLog} of its entries were only in the log.
${paint(colours, 'red', `LOST: every write after index ${index}, even if the cluster has acknowledged it.`)}
1. ${others.length === 0 ? 'The old member' : `The old members (${others.map(printable).join(', ')}, and this one)`} must never start again: move their directories away, or take the disks out.
2. Wait as long as the longest lease of a lock: a holder that this member did not know of may work until then.
   After that, systems that compare fencing tokens refuse its writes: new tokens are larger by 2^32.
3. For each member of the new cluster: latchkey restore ${file} --id NAME --dir NEW --member NAME=URL ...
   then latchkey start, with the same list. It has another cluster id; clients of the old one are told ERR_WRONG_CLUSTER.
`
}
