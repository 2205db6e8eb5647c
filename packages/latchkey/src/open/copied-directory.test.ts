// Test: if a copy of a member's directory is started beside the member, the cluster continues, and each log
// says what is wrong.

import { cp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Store } from '@latchkey/client'
import { expect, test } from 'vitest'
import type { OpenOptions } from './options.js'
import { openedInTest } from './testing/opened-stores-and-members.js'
import { addresses } from './testing/free-ports.js'

const { inFolder, opening } = openedInTest()

interface Line {
  readonly level: string
  readonly text: string
  readonly fields: Readonly<Record<string, unknown>>
}

function logging(log: Line[], options: OpenOptions): Promise<Store> {
  const line = (level: string) => (text: string, fields?: Readonly<Record<string, unknown>>) =>
    void log.push({ level, text, fields: fields ?? {} })
  const logger = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  return opening({ electionTimeout: 300, heartbeat: 60, logger, ...options })
}

async function until(what: () => boolean): Promise<void> {
  for (const end = performance.now() + 20_000; !what(); ) {
    if (performance.now() > end) throw new Error(`not in time: ${String(what)}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const saysTwo = (log: Line[]) => () =>
  log.some(
    ({ level, fields }) =>
      level === 'warn' && String(fields.reason).startsWith('two processes are member a:'),
  )
const cutOff = (log: Line[]) => log.filter(({ text }) => text === 'the connection to a member is gone').length

test('M23: a copy of a running member is refused while its lock says so; once it is started it disturbs nobody, and both logs name it', async () => {
  const members = await addresses(['a', 'b', 'c'])
  const { other } = await addresses(['other'])
  const listen = new URL(other).host
  const logs: Record<string, Line[]> = { a: [], b: [], c: [], copy: [] }
  const log = (id: string) => logs[id] as Line[]
  const start = (id: string) => logging(log(id), { id, dir: inFolder(id), members })
  const [a, b, c] = await Promise.all([start('a'), start('b'), start('c')])
  await Promise.all([a.ready(), b.ready(), c.ready()])
  await a.put('k', 'before')
  const dir = inFolder('copy')
  await cp(inFolder('a'), dir, { recursive: true })
  const copied = { id: 'a', dir, members, listen }
  await expect(logging([], copied)).rejects.toMatchObject({
    code: 'ERR_DIR_LOCKED',
    message: expect.stringContaining('copy of a directory that is in use'),
  })
  // As after the process that the copied lock names has ended: nobody holds the copy.
  for (const file of await readdir(dir)) if (file.startsWith('lock.')) await rm(join(dir, file))
  await a.close()
  await logging(log('copy'), copied)
  const again = await start('a')
  // Without c, a and b have to hear each other.
  await c.close()
  await Promise.all([again.ready({ timeout: 20_000 }), b.ready({ timeout: 20_000 })])
  await until(() => saysTwo(log('b'))() && saysTwo(log('copy'))())
  const before = cutOff(log('b'))
  for (let i = 0; i < 100; i++) {
    await b.put('k', String(i), { timeout: 20_000 })
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  expect(cutOff(log('b'))).toBe(before)
  expect(await again.get('k', { as: 'string', timeout: 20_000 })).toBe('99')
})
