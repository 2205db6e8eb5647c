// Test: if the state machine of one member computes another state, all members report the difference, with
// the first row that differs.

import { type Logger, silentLogger } from '@latchkey/base'
import type { KvMachine } from '@latchkey/kv'
import type { Entry } from '@latchkey/raft'
import { afterEach, expect, test } from 'vitest'
import type { OpenedMember } from '../open/open-member.js'
import { openMember } from '../open/open.js'
import { checkOptions } from '../open/options.js'
import { listen } from '../open/http-and-websocket-server.js'
import { addresses } from '../open/testing/free-ports.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close().catch(() => {})))
})

type Line = readonly [message: string, fields: Record<string, unknown>]

async function member(id: string, members: Record<string, string>, lines: Line[]): Promise<OpenedMember> {
  const logger: Logger = {
    ...silentLogger,
    error: (message, fields) => void lines.push([message, { ...fields }]),
  }
  const options = { id, members, memory: true, electionTimeout: 300, heartbeat: 60, logger } as const
  const opened = await openMember(options)
  closers.push(() => opened.store.close())
  const { listen: at, tls } = checkOptions(options)
  if (at !== undefined) opened.serveAt(await listen(at, opened.arrivals(tls)))
  return opened
}

/** What it is given says "right"; it applies "wrong". */
function makeFaulty(kv: KvMachine): void {
  const apply = kv.apply.bind(kv)
  const forged = (entry: Entry): Entry => {
    const at = Buffer.from(entry.data).indexOf('right')
    if (at < 0) return entry
    const data = Buffer.from(entry.data)
    data.write('wrong', at)
    return { ...entry, data }
  }
  kv.apply = (entries, membershipAt) => apply(entries.map(forged), membershipAt)
}

test('A10: a difference is reported by every member, with the first key that differs', {
  timeout: 120_000,
}, async () => {
  const ids = ['a', 'b', 'c'] as const
  const members = await addresses(ids)
  const lines = { a: [] as Line[], b: [] as Line[], c: [] as Line[] }
  const all = await Promise.all(ids.map((id) => member(id, members, lines[id])))
  await Promise.all(all.map(({ store }) => store.ready()))
  makeFaulty(all[2]?.current?.kv as KvMachine)
  const { store } = all[0] as OpenedMember
  for (let i = 0; i < 50; i++) await store.put(`key/${i}`, i === 17 || i === 23 ? 'right' : 'same')
  const first = (id: (typeof ids)[number], from: string) =>
    lines[id].filter(
      ([message, fields]) => message.startsWith('this is the first row') && fields['from'] === from,
    )
  await expect.poll(() => first('a', 'c').length, { timeout: 50_000 }).toBeGreaterThan(1)
  expect(first('a', 'c').map(([, fields]) => [fields['key'], fields['what']])).toContainEqual([
    'data "key/17"',
    'it is another one there',
  ])
  await expect.poll(() => first('c', 'a').length, { timeout: 50_000 }).toBeGreaterThan(1)
  const [, fields] = lines.a.find(([message]) => message.startsWith('members have different')) as Line
  expect(fields).toMatchObject({ from: 'c', spaces: ['data', 'events', 'meta'] })
  expect(first('a', 'b').length).toBe(0)
})
