// Driver: `latchkey recover`: makes a backup from the directory of a member whose cluster has lost its
// majority permanently. The command prints which data may be lost, and does nothing until the user has
// confirmed the loss.

import type { RecoveredMember, RecoverOptions } from '../open/index.js'
import { type Command, flag, text, UsageError, words } from './command.js'
import { EXIT } from './exit-codes.js'
import { jsonLine, paint, printable } from './print-values.js'
import { Progress } from './progress.js'
import { JSON_OPTION } from './command-store.js'

export type Recover = (path: string, options: RecoverOptions) => Promise<RecoveredMember>

const MAY_BE_LOST = `Every write that this member has not got is lost, also where its caller was told that it is done; a write whose
caller was told nothing may have happened. All sessions end, and with them their keys and their places in queues.`

/** `load` loads the store's native code only when the command runs. */
export const recoverCommand = (load: () => Promise<Recover>): Command => ({
  name: 'recover',
  usage: 'FILE --dir PATH --writes-may-be-lost',
  summary:
    'Make a backup from the directory of a stopped member, when its cluster has lost the majority for good. `latchkey restore` makes a new one from it.',
  notes: `${MAY_BE_LOST}
The directory is only read, and its member must not run. Beside FILE there must be room for a copy of the directory. Where
several members are left, recover each, and restore from the one with the largest term, then the largest index.`,
  options: {
    dir: { type: 'string', value: 'PATH', help: 'the directory of the member that is left' },
    'writes-may-be-lost': { type: 'boolean', help: 'say that you know it; nothing is done without this' },
    force: { type: 'boolean', help: 'replace FILE if it is there' },
    ...JSON_OPTION,
  },
  examples: ['latchkey recover ./left.backup --dir /var/lib/latchkey/a --writes-may-be-lost'],
  async run(line, io) {
    const [file = ''] = words(line, 1, 1)
    const dir = text(line, 'dir')
    if (dir === undefined)
      throw new UsageError('recover needs --dir, the directory of the member that is left')
    if (!flag(line, 'writes-may-be-lost'))
      throw new UsageError(
        `recover is for a majority that is lost for good; while one can come back, start it instead. ${MAY_BE_LOST.replaceAll('\n', ' ')} Nothing was done. To go on, say --writes-may-be-lost`,
      )
    const recover = await load()
    const progress = new Progress(io)
    const found = await progress.during(
      () => `${dir} is being recovered, ${progress.seconds} s`,
      () => recover(file, { dir, overwrite: flag(line, 'force') }),
    )
    io.out(flag(line, 'json') ? jsonLine({ file, ...found }) : told(file, found, io.colours))
    return EXIT.ok
  },
})

function told(file: string, found: RecoveredMember, colours: boolean): string {
  const { id, clusterId, term, index, fromLog, voters } = found
  const others = voters.filter((one) => one !== id)
  return `${file} has the state of member ${printable(id)} of cluster ${printable(clusterId)}: term ${term}, index ${index}; ${fromLog} of its entries were in the log only.
${paint(colours, 'red', `LOST: every write behind index ${index}, whoever was told that it is done.`)}
1. ${others.length === 0 ? 'The old member' : `The old members (${others.map(printable).join(', ')}, and this one)`} must never start again: move their directories away, or take the disks out.
2. Wait as long as the longest lease of a lock: a holder that this member did not know of may work until then.
   Later its writes are refused where they are fenced: new tokens are larger by 2^32.
3. For each member of the new cluster: latchkey restore ${file} --id NAME --dir NEW --member NAME=URL ...
   then latchkey start, with the same list. It has another cluster id; clients of the old one are told ERR_WRONG_CLUSTER.
`
}
