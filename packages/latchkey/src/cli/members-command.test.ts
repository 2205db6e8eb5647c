// Test: `latchkey members` with a simulated store: what it asks, how long it waits, and what it prints
// meanwhile.

import type { Clock } from '@latchkey/base'
import { LatchkeyError, type Status } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { fakeIo, NO_PARTS } from '../../test/fake-io.js'
import type { CommandStore } from './command-io-interface.js'
import { main } from './main.js'

/** `busy`: how often promote is refused before it is done. */
async function run(
  args: string[],
  busy: readonly LatchkeyError[] = [],
  errIsTerminal = false,
  clock?: Clock,
) {
  const told: string[] = []
  const left = [...busy]
  const note =
    (name: string) =>
    async (...words: unknown[]) => {
      told.push([name, ...words.filter((word) => typeof word === 'string')].join(' '))
      const fault = name === 'promote' || name === 'remove' ? left.shift() : undefined
      if (fault !== undefined) throw fault
    }
  const member = { url: 'ws://x:1', alive: true }
  const status = async () =>
    ({
      members: [
        { ...member, id: 'a', role: 'voter', lag: 0 },
        { ...member, id: 'c', role: 'voter', lag: 0 },
        { ...member, id: 'd', role: 'learner', lag: 42 },
      ],
    }) as unknown as Status
  const names = ['add', 'promote', 'remove', 'update', 'rebuild'] as const
  const members = Object.fromEntries(names.map((name) => [name, note(name)]))
  const store = { members, status, close: async () => {} } as unknown as CommandStore
  const io = { ...fakeIo({ connect: () => store, errIsTerminal }), ...(clock && { clock }) }
  const code = await main(['members', ...args], io, NO_PARTS)
  return { code, told, ...io.printed }
}

const lagging = new LatchkeyError('ERR_BUSY')
const underWay = new LatchkeyError('ERR_CONFIG_CHANGE_IN_PROGRESS')

test('add --promote waits until the learner has caught up, and says how far it is', async () => {
  const { code, told, out, err } = await run(['add', 'd', 'ws://d:1', '--promote'], [lagging, underWay], true)
  expect([code, told]).toEqual([0, ['add d ws://d:1', 'promote d', 'promote d', 'promote d']])
  expect(out).toBe('d votes now; there are 2 voters\n')
  expect(err).toContain('d is catching up, 42 entries to go')
  expect(err.endsWith('\r\u001b[K')).toBe(true)
})

test('a learner that does not catch up within --wait is busy', async () => {
  const { code, err } = await run(['promote', 'd', '--wait', '50ms'], Array(9).fill(lagging))
  expect(code).toBe(1)
  expect(err).toMatch(/^latchkey: ERR_BUSY/)
})

test.each([
  [['promote', 'd'], 5_000],
  [['add', 'd', 'ws://d:1', '--promote'], 600_000],
  [['replace', 'c', 'd', 'ws://d:1'], 600_000],
])('without --wait, %j waits for %i ms', async (args, wait) => {
  let now = 0
  // The short pauses of the command end in the next turn, and the time passes by their length.
  const clock: Clock = {
    now: () => now,
    instant: () => ({ hr: now, up: now, wall: now }),
    after: (ms, run) => {
      const ended = () => {
        now += ms
        run()
      }
      const timer = ms > 1_000 ? undefined : setImmediate(ended)
      return { cancel: () => clearImmediate(timer) }
    },
  }
  const { code } = await run(args, Array(3_000).fill(lagging), false, clock)
  expect(code).toBe(1)
  expect(now).toBeGreaterThanOrEqual(wait)
  expect(now).toBeLessThan(wait + 1_000)
})

test('replace: the new one votes before the old one goes, unless it is the old one', async () => {
  expect((await run(['replace', 'c', 'd', 'ws://d:1'])).told).toEqual([
    'add d ws://d:1',
    'promote d',
    'remove c',
  ])
  expect((await run(['replace', 'd', 'd', 'ws://d:1'])).told).toEqual([
    'remove d',
    'add d ws://d:1',
    'promote d',
  ])
})

test('M27: replace: one that is no member is refused before anything is asked for; where it is done already that is said', async () => {
  const refused = await run(['replace', 'zz', 'e', 'ws://e:1'])
  expect(refused).toMatchObject({ code: 1, told: [] })
  expect(refused.err).toContain('ERR_MISMATCH')
  expect(refused.err).toContain('There is no member zz to replace: the members are a, c, d.')
  const again = await run(['replace', 'zz', 'c', 'ws://x:1'])
  expect(again).toMatchObject({ code: 0, told: [], out: 'c votes, and zz is no member\n' })
})

test('a change that members make by themselves is waited for; a refusal that lasts is not', async () => {
  expect((await run(['remove', 'd'], [underWay])).told).toEqual(['remove d', 'remove d'])
  const lasting = new LatchkeyError('ERR_CONFIG_CHANGE_IN_PROGRESS', 'there is one', { retryable: false })
  expect(await run(['remove', 'd'], [lasting])).toMatchObject({ code: 1, told: ['remove d'] })
  expect((await run(['remove', 'zz'])).out).toBe('zz is no member\n')
})

test('as JSON: the members as they are then', async () => {
  const { out } = await run(['update', 'd', 'ws://d:2', '--json'])
  expect(JSON.parse(out)).toMatchObject([{ id: 'a' }, { id: 'c' }, { id: 'd', lag: 42 }])
})
