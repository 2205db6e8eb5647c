// Driver: status, members, transfer and backup.

import { resolve } from 'node:path'
import type { MemberCalls, MemberStatus, Status } from '@latchkey/protocol'
import { type Command, UsageError, words } from './command.js'
import { EXIT } from './exit.js'
import { jsonLine, table } from './output.js'
import { JSON_OPTION, type Session, STORE_OPTIONS, withStore } from './store.js'

export const status: Command = {
  name: 'status',
  usage: '',
  summary: 'Show who leads, how far the log has come, and how the members are.',
  options: { ...JSON_OPTION, ...STORE_OPTIONS },
  examples: ['latchkey status', 'latchkey status --endpoint ws://127.0.0.1:7002 --json'],
  async run(line, io) {
    words(line, 0, 0)
    return withStore(line, io, async ({ store, json, call }) => {
      const found = await store.status(call)
      io.out(json ? jsonLine(found) : statusText(found))
      return EXIT.ok
    })
  },
}

function statusText(status: Status): string {
  const { id, role, leader = 'none', term, commit, applied, clusterTime } = status
  const facts = table([
    ['member', id],
    ['role', role],
    ['leader', leader],
    ['term', String(term)],
    ['commit', String(commit)],
    ['applied', String(applied)],
    ['cluster time', `${clusterTime} ms`],
  ])
  return `${facts}\n${membersText(status.members)}`
}

function membersText(members: readonly MemberStatus[]): string {
  const rows = members.map(({ id, url, role, lag, alive }) => [
    id,
    role,
    alive === undefined ? '-' : alive ? 'yes' : 'no',
    lag === undefined ? '-' : String(lag),
    url,
  ])
  return table([['id', 'role', 'alive', 'lag', 'url'], ...rows])
}

type Change = (members: MemberCalls, words: readonly string[], call: Session['call']) => Promise<void>

/** What stands behind `members`: how many words it takes, and what it does. */
const CHANGES: Readonly<Record<string, { readonly words: number; readonly run: Change }>> = {
  add: { words: 2, run: (members, [id = '', url = ''], call) => members.add(id, url, call) },
  promote: { words: 1, run: (members, [id = ''], call) => members.promote(id, call) },
  update: { words: 2, run: (members, [id = '', url = ''], call) => members.update(id, url, call) },
  remove: { words: 1, run: (members, [id = ''], call) => members.remove(id, call) },
  rebuild: { words: 1, run: (members, [id = ''], call) => members.rebuild(id, call) },
}

export const members: Command = {
  name: 'members',
  usage: '[add ID URL | promote ID | update ID URL | remove ID | rebuild ID]',
  summary: 'List the members, or change them, one at a time.',
  notes:
    'add brings in a learner, which was started with --join; promote makes it a voter once it has caught up.\nrebuild makes a member drop its state and take it anew from its peers; its log, and so its vote, stays.',
  options: { ...JSON_OPTION, ...STORE_OPTIONS },
  examples: ['latchkey members', 'latchkey members add d ws://127.0.0.1:7004', 'latchkey members promote d'],
  async run(line, io) {
    const [verb, ...rest] = words(line, 0, 3)
    const change =
      verb === undefined || verb === 'list' ? undefined : Object.hasOwn(CHANGES, verb) ? CHANGES[verb] : null
    if (change === null)
      throw new UsageError(
        `there is no 'members ${verb}'; there are list, ${Object.keys(CHANGES).join(', ')}`,
      )
    if (rest.length !== (change?.words ?? 0))
      throw new UsageError(`members ${verb} takes ${change?.words ?? 0} words`)
    return withStore(line, io, async ({ store, json, call }) => {
      if (change !== undefined) await change.run(store.members, rest, call)
      const { members } = await store.status(call)
      if (json) io.out(jsonLine(members))
      else if (change === undefined) io.out(membersText(members))
      return EXIT.ok
    })
  },
}

export const transfer: Command = {
  name: 'transfer',
  usage: '[ID]',
  summary: 'Hand leadership to a member, or to whichever is ready.',
  options: { ...JSON_OPTION, ...STORE_OPTIONS },
  examples: ['latchkey transfer b', 'latchkey transfer'],
  async run(line, io) {
    const [id] = words(line, 0, 1)
    return withStore(line, io, async ({ store, json, call }) => {
      await store.transferLeadership(id, call)
      const { leader, term } = await store.status(call)
      if (json) io.out(jsonLine({ leader, term }))
      return EXIT.ok
    })
  },
}

export const backup: Command = {
  name: 'backup',
  usage: 'FILE',
  summary: 'Write a backup. The member at the endpoint writes it, to FILE on its own disk.',
  options: { ...JSON_OPTION, ...STORE_OPTIONS },
  examples: ['latchkey backup ./monday.backup'],
  async run(line, io) {
    const [file = ''] = words(line, 1, 1)
    const path = resolve(file)
    return withStore(line, io, async ({ store, json, call }) => {
      await store.backup(path, call)
      if (json) io.out(jsonLine({ path }))
      return EXIT.ok
    })
  },
}
