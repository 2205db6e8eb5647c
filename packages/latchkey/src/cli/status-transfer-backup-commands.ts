// Driver: the commands `latchkey status`, `transfer` and `backup`.

import { resolve } from 'node:path'
import type { Status } from '@latchkey/protocol'
import { type Command, duration, flag, words } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import { jsonLine, megabytes, membersTable, paint, span, table } from './print-values.js'
import { Progress } from './progress-display.js'
import { JSON_OPTION, STORE_OPTIONS, withStore } from './store-connection-of-command.js'

export const status: Command = {
  name: 'status',
  usage: '',
  summary: 'Show the leader, the position of the log, and the state of each member.',
  options: { ...JSON_OPTION, ...STORE_OPTIONS },
  examples: ['latchkey status', 'latchkey status --endpoint ws://127.0.0.1:7002 --json'],
  async run(line, io) {
    words(line, 0, 0)
    return withStore(line, io, async ({ store, json, call }) => {
      const found = await store.status(call)
      io.out(json ? jsonLine(found) : statusText(found, io.colours))
      return EXIT.ok
    })
  },
}

function statusText(status: Status, colours: boolean): string {
  const { id, role, leader = 'none', term, commit, applied, clusterTime, clusterId, disk } = status
  const facts = table([
    ['member', id],
    ['role', role],
    ['leader', status.leader === undefined ? paint(colours, 'red', leader) : leader],
    ['term', String(term)],
    ['commit', String(commit)],
    ['applied', String(applied)],
    ['cluster time', `${clusterTime} ms`],
    ['cluster id', clusterId],
    ['version', status.version],
    ['up for', span(status.uptimeMillis)],
    ...(disk === undefined
      ? []
      : [
          ['state on disk', megabytes(disk.stateBytes)] as const,
          ['log on disk', megabytes(disk.logBytes)] as const,
          ['free on disk', `${megabytes(disk.freeBytes)} of ${megabytes(disk.totalBytes)}`] as const,
        ]),
  ])
  const why = status.whyNoLeader === undefined ? '' : `${paint(colours, 'red', status.whyNoLeader)}\n\n`
  return `${facts}\n${why}${membersTable(status.members, colours)}`
}

export const transfer: Command = {
  name: 'transfer',
  usage: '[ID]',
  summary: 'Transfer the leadership to a member, or to any member that is ready.',
  options: { ...JSON_OPTION, ...STORE_OPTIONS },
  examples: ['latchkey transfer b', 'latchkey transfer'],
  async run(line, io) {
    const [id] = words(line, 0, 1)
    return withStore(line, io, async ({ store, json, call }) => {
      await store.transferLeadership(id, call)
      const { leader, term } = await store.status(call)
      io.out(json ? jsonLine({ leader, term }) : `${leader ?? 'nobody'} leads now, in term ${term}\n`)
      return EXIT.ok
    })
  },
}

export const backup: Command = {
  name: 'backup',
  usage: 'FILE',
  summary: 'Write a backup of the whole store to a new file on this machine.',
  notes: `The file gets its name only when it is complete and synced. If FILE exists already, the command fails and keeps the
existing file, except with --force. The token needs the right admin.`,
  options: {
    force: { type: 'boolean', help: 'replace FILE if it exists' },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
    timeout: {
      type: 'string',
      value: 'DURATION',
      help: 'fail after this time; by default, the command continues as long as data arrives',
    },
  },
  examples: [
    'latchkey backup ./monday.backup',
    'latchkey backup /backups/newest.latchkey --force --endpoint wss://10.0.0.2:7001',
  ],
  async run(line, io) {
    const [file = ''] = words(line, 1, 1)
    const path = resolve(file)
    return withStore(line, io, async ({ store, json, call }) => {
      const progress = new Progress(io)
      // A backup may have gigabytes, so the default timeout of calls does not apply here.
      const timeout = duration(line, 'timeout')
      let bytes = 0
      await progress.during(
        () => `the backup is being written: ${megabytes(bytes)}, ${progress.seconds} s`,
        () =>
          store.backup(path, {
            ...call,
            timeout,
            overwrite: flag(line, 'force'),
            progress: (written) => {
              bytes = written
            },
          }),
      )
      io.out(json ? jsonLine({ path, bytes }) : `${path} is written, ${megabytes(bytes)}\n`)
      return EXIT.ok
    })
  },
}
