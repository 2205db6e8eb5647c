// Driver: `latchkey sessions`, which lists the clients' sessions and ends a session.

import type { SessionInfo } from '@latchkey/protocol'
import { type Command, text, UsageError, words } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import { jsonLine, seconds, table } from './print-values.js'
import { JSON_OPTION, STORE_OPTIONS, withStore } from './store-connection-of-command.js'

export const sessions: Command = {
  name: 'sessions',
  usage: '',
  summary: 'List the sessions of all stores, or end one.',
  notes: `A store opens a session at its first write, lock or wait. The list shows for each session its client, how long the client
was silent, and the holds. With --end, the session loses its places in queues, but its holds stay until their leases end. If its store
is still running, the store opens another session. The command needs the right admin. It works even if no more sessions
can be opened.`,
  options: {
    end: { type: 'string', value: 'ID', help: 'end the session with this number' },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
  },
  examples: ['latchkey sessions', 'latchkey sessions --json', 'latchkey sessions --end 4711'],
  async run(line, io) {
    words(line, 0, 0)
    const end = text(line, 'end')
    const id = end === undefined ? undefined : numberOf(end)
    return withStore(line, io, async ({ store, json, call }) => {
      if (id === undefined) {
        const list = await store.sessions.list(call)
        io.out(json ? jsonLine(list) : listText(list))
        return EXIT.ok
      }
      const ended = await store.sessions.end(id, call)
      if (json) io.out(jsonLine({ id, ended }))
      else io.out(ended ? `session ${id} is ended\n` : `there is no session ${id}\n`)
      return ended ? EXIT.ok : EXIT.failure
    })
  },
}

function numberOf(given: string): number {
  const id = Number(given)
  if (/^[1-9][0-9]*$/.test(given) && Number.isSafeInteger(id)) return id
  throw new UsageError(`--end takes the number of a session, as 'latchkey sessions' lists it; got ${given}`)
}

function listText(list: readonly SessionInfo[]): string {
  const rows = list.map(({ id, openedBy, idleMillis, remainingMillis, holds, waiters }) => [
    String(id),
    openedBy === '' ? '-' : openedBy,
    seconds(idleMillis),
    seconds(remainingMillis),
    String(holds),
    String(waiters),
  ])
  return table([['id', 'opened by', 'silent for', 'ends in', 'locks', 'waits'], ...rows])
}
