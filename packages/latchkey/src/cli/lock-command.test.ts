// Test: `latchkey lock` runs its command only while it holds the lock, passes signals on, releases the lock,
// and reports the result by its exit code.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LatchkeyError } from '@latchkey/protocol'
import { expect, onTestFinished, test } from 'vitest'
import { type FakeWorld, fakeIo, NO_PARTS } from '../../test/fake-io.js'
import type { AcquireOptions, CommandStore, Hold } from './command-io-interface.js'
import { main } from './main.js'

/** A store of which only the locks are used. */
function lockStore(answer: (options: AcquireOptions) => Promise<Hold | undefined>) {
  const told: string[] = []
  const locks = {
    acquire: async (key: string, options: AcquireOptions = {}) => {
      told.push(`acquire ${key} ${JSON.stringify({ lease: options.lease, wait: options.wait })}`)
      return (await answer(options)) as Hold
    },
    tryAcquire: (key: string, options: AcquireOptions = {}) => {
      told.push(`tryAcquire ${key}`)
      return answer(options)
    },
    query: async () => [
      {
        key: 'k',
        id: 'h1',
        context: 'job\u001b[2J',
        fencingToken: 7,
        acquires: 1,
        sinceMillis: 1_500,
        waiters: 2,
      },
    ],
  }
  const store = {
    locks,
    status: async () => ({ leader: 'a' }),
    close: async () => void told.push('close'),
  } as unknown as CommandStore
  return { store, told }
}

function holdOf(told: () => string[], releases: Hold['release'] = async () => {}) {
  const loss = new AbortController()
  const hold: Hold = {
    token: 7,
    signal: loss.signal,
    kv: { put: async () => ({ revision: 1 }) },
    release: async (options) => {
      told().push('release')
      await releases(options)
    },
  }
  return { hold, lose: () => loss.abort(new LatchkeyError('ERR_LOCK_LOST')) }
}

function setup(world: FakeWorld = {}, releases?: Hold['release']) {
  const { hold, lose } = holdOf(() => told, releases)
  const { store, told } = lockStore(async () => hold)
  const io = fakeIo({ env: { PATH: process.env.PATH ?? '' }, connect: () => store, ...world })
  const run = (...args: string[]) => main(['lock', ...args], io, NO_PARTS)
  return { io, run, told, lose }
}

function tempFile(): string {
  const dir = mkdtempSync(join(tmpdir(), 'latchkey-lock-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return join(dir, 'file')
}

/** Resolves when the command has written to its file, that is, when it runs. */
async function running(file: string): Promise<void> {
  const has = () => {
    try {
      return readFileSync(file, 'utf8') !== ''
    } catch {
      return false
    }
  }
  while (!has()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('the command finds its token, its exit code is the exit code, and the lock is released before the store closes', async () => {
  const file = tempFile()
  const { run, told } = setup()
  expect(
    await run(
      'orders/42',
      '--',
      'sh',
      '-c',
      'echo "$LATCHKEY_LOCK_KEY $LATCHKEY_LOCK_TOKEN" > "$1"; exit 3',
      'sh',
      file,
    ),
  ).toBe(3)
  expect(readFileSync(file, 'utf8')).toBe('orders/42 7\n')
  expect(told).toEqual(['acquire orders/42 {"lease":10000}', 'release', 'close'])
})

test('lease and wait go to the store; options behind -- belong to the command', async () => {
  const { run, told } = setup()
  expect(await run('k', '--lease', '30s', '--wait', '2m', '--', 'sh', '-c', 'exit 0', '--help')).toBe(0)
  expect(told[0]).toBe('acquire k {"lease":30000,"wait":120000}')
})

test('others see the host and the process that hold the lock, or the context that was given', async () => {
  const contexts: unknown[] = []
  const { store } = lockStore(async ({ context }) => void contexts.push(context))
  const io = fakeIo({ connect: () => store })
  for (const given of [[], ['--context', 'deploy 7']])
    await main(['lock', 'k', '--wait', '0', ...given, '--', 'true'], io, NO_PARTS)
  expect(contexts).toEqual(['host7 pid 4711', 'deploy 7'])
})

test('a number without a unit is milliseconds', async () => {
  const { run, told } = setup()
  expect(
    await run(
      'k',
      '--lease',
      '10000',
      '--wait',
      '500',
      '--kill-after',
      '50',
      '--timeout',
      '9000',
      '--',
      'true',
    ),
  ).toBe(0)
  expect(told[0]).toBe('acquire k {"lease":10000,"wait":500}')
})

test('--wait 0 tries once', async () => {
  const { store, told } = lockStore(async () => undefined)
  const io = fakeIo({ connect: () => store })
  expect(await main(['lock', 'k', '--wait', '0', '--', 'true'], io, NO_PARTS)).toBe(75)
  expect(told).toEqual(['tryAcquire k', 'close'])
  expect(io.printed.err).toBe(
    'latchkey: the lock "k" is taken: held by h1 ("job\\u001b[2J") for 1.5 s, token 7, 2 waiting\n',
  )
})

test.each([
  ['ERR_TIMEOUT', 75],
  ['ERR_NO_LEADER', 69],
  ['ERR_FORBIDDEN', 1],
] as const)('%s while waiting is exit code %d, and nothing is run', async (code, exit) => {
  const { store } = lockStore(() => Promise.reject(new LatchkeyError(code)))
  const io = fakeIo({ connect: () => store })
  expect(await main(['lock', 'k', '--wait', '1s', '--', 'no-such-command'], io, NO_PARTS)).toBe(exit)
})

test('a wait that is over without a leader is 69, not a busy lock', async () => {
  const { store } = lockStore(() => Promise.reject(new LatchkeyError('ERR_TIMEOUT')))
  const leaderless = { ...store, status: async () => ({ leader: undefined }) } as unknown as CommandStore
  const io = fakeIo({ connect: () => leaderless })
  expect(await main(['lock', 'k', '--wait', '1s', '--', 'true'], io, NO_PARTS)).toBe(69)
})

test('a command killed by a signal is 128 + n; one that is not there 127; one that cannot run 126', async () => {
  expect(await setup().run('k', '--', 'sh', '-c', 'kill -9 $$')).toBe(137)
  const missing = setup()
  expect(await missing.run('k', '--', 'no-such-command-here')).toBe(127)
  expect(missing.told).toContain('release')
  const file = tempFile()
  writeFileSync(file, 'x', { mode: 0o600 })
  expect(await setup().run('k', '--', file)).toBe(126)
})

/** A command that writes into the file when it runs, and does that at SIGTERM. */
const untilKilled = (atTerm: string, file: string) => [
  'sh',
  '-c',
  `trap "${atTerm}" TERM; echo up > "$1"; while :; do sleep 0.01; done`,
  'sh',
  file,
]

test('signals go to the command, and its own ending counts', async () => {
  const file = tempFile()
  const { run, io, told } = setup()
  const ended = run('k', '--', ...untilKilled('exit 9', file))
  await running(file)
  io.signal('SIGTERM')
  expect(await ended).toBe(9)
  expect(told).toContain('release')
})

test('K6: a lost hold ends the command by SIGTERM, and the exit code is 75 whatever the command says', async () => {
  const file = tempFile()
  const { run, lose, io } = setup()
  const ended = run('k', '--', ...untilKilled('exit 0', file))
  await running(file)
  lose()
  expect(await ended).toBe(75)
  expect(io.printed.err).toContain('the lock was lost')
})

test('a command that does not heed SIGTERM is killed after --kill-after', async () => {
  const file = tempFile()
  const { run, lose } = setup()
  const ended = run('k', '--kill-after', '50ms', '--', ...untilKilled('', file))
  await running(file)
  lose()
  expect(await ended).toBe(75)
})

test('a hold that was lost is not worth waiting for', async () => {
  const given: unknown[] = []
  const { run, lose } = setup({}, async (options) => void given.push(options))
  lose()
  expect(await run('k', '--', 'sleep', '5')).toBe(75)
  expect(given).toEqual([{ timeout: '500ms' }])
})

test('a release that fails is told, and changes no exit code', async () => {
  const { run, io } = setup({}, () => Promise.reject(new LatchkeyError('ERR_NO_LEADER')))
  expect(await run('k', '--', 'true')).toBe(0)
  expect(io.printed.err).toContain('its lease will end it')
})

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s before the command has started is %d', async (signal, exit) => {
  const { store } = lockStore(
    ({ signal: given }) =>
      new Promise((_, reject) => {
        given?.addEventListener('abort', () => reject(new LatchkeyError('ERR_ABORTED')))
        io.signal(signal)
      }),
  )
  const io = fakeIo({ connect: () => store })
  expect(await main(['lock', 'k', '--', 'true'], io, NO_PARTS)).toBe(exit)
})

test.each([
  [['k']],
  [['--', 'true']],
  [['k', 'l', '--', 'true']],
  [['k', '--wait', '1.5s', '--', 'true']],
  [['k', '--kill-after', 'x', '--', 'true']],
])('%j is a mistake of usage', async (args) => {
  const { store } = lockStore(() => Promise.reject(new TypeError('wait must be a duration')))
  expect(await main(['lock', ...args], fakeIo({ connect: () => store }), NO_PARTS)).toBe(2)
})
