// Driver: `latchkey restore`, which makes the directory of a new cluster's member from a backup.

import { parseMembers } from '../sidecar/index.js'
import { type Command, flag, text, texts, UsageError, words } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import { jsonLine } from './print-values.js'
import { Progress } from './progress-display.js'
import { JSON_OPTION } from './store-connection-of-command.js'

interface RestoreOptions {
  id: string
  dir: string
  members?: Record<string, string> | undefined
  cluster?: string | undefined
}
export type Restore = (path: string, options: RestoreOptions) => Promise<void>

/** `load` loads the native code of LevelDB, which the help of the command does not need. */
export const restoreCommand = (load: () => Promise<Restore>): Command => ({
  name: 'restore',
  usage: 'FILE --id NAME --dir PATH',
  summary:
    'Make the directory of a member of a new cluster from a backup. Then start the member with `latchkey start` and the same id and dir.',
  notes:
    'If the cluster has several members, restore each of them from the same file with the same --member list. New fencing tokens\nare much larger than the tokens in the backup. The backup has no sessions and no waiters. Holds stay until their leases end.',
  options: {
    id: { type: 'string', value: 'NAME', help: 'the id of the new member' },
    dir: { type: 'string', value: 'PATH', help: 'a new or empty directory' },
    member: {
      type: 'string',
      multiple: true,
      value: 'ID=URL',
      help: 'the id and address of a voter, once for each voter of the new cluster',
    },
    cluster: { type: 'string', value: 'NAME', help: 'the name of the new cluster' },
    ...JSON_OPTION,
  },
  examples: ['latchkey restore monday.backup --id a --dir ./a'],
  async run(line, io) {
    const [file = ''] = words(line, 1, 1)
    const [id, dir] = [text(line, 'id'), text(line, 'dir')]
    if (id === undefined || dir === undefined) throw new UsageError('restore needs --id and --dir')
    const given = texts(line, 'member')
    const members = given.length === 0 ? undefined : parseMembers(given, '--member')
    const restore = await load()
    const cluster = text(line, 'cluster')
    const clusterFlag = cluster === undefined ? '' : ` --cluster ${cluster}`
    const progress = new Progress(io)
    await progress.during(
      () => `${file} is being restored, ${progress.seconds} s`,
      () => restore(file, { id, dir, members, cluster }),
    )
    io.out(
      flag(line, 'json')
        ? jsonLine({ id, dir })
        : `${dir} holds member ${id} of a new cluster; start it with: latchkey start --id ${id} --dir ${dir}${clusterFlag}\n`,
    )
    return EXIT.ok
  },
})
