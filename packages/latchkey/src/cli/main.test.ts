// Test: help, usage and exit codes of every command that fails before it connects, and the settings that
// `start` shows.

import { LatchkeyError } from '@latchkey/protocol'
import { describe, expect, test } from 'vitest'
import { fakeIo, NO_PARTS } from '../../test/fake-io.js'
import { exitOf } from './exit-codes.js'
import { Interrupted } from './command-io-interface.js'
import { main } from './main.js'
import { commandsOf } from './command-dispatcher.js'

const parts = { ...NO_PARTS, version: '1.2.3' }
const commands = commandsOf(parts)
const run = async (args: string[], world = {}) => {
  const io = fakeIo(world)
  return { code: await main(args, io, parts), ...io.printed, connected: io.connected }
}

const NAMES =
  'start demo doctor status get put incr del scan watch txn lock semaphore elect locks release members sessions console transfer backup restore recover bench completion'.split(
    ' ',
  )

test('the commands are those of the contract', () => {
  expect(commands.map(({ name }) => name)).toEqual(NAMES)
})

describe.each(NAMES)('%s', (name) => {
  test('--help goes to standard output, with options and examples that can be read', async () => {
    const { code, out, err } = await run([name, '--help'])
    expect([code, err]).toEqual([0, ''])
    expect(out).toMatch(new RegExp(`^usage: latchkey ${name}`))
    const command = commands.find((known) => known.name === name)
    expect(command?.examples.length).toBeGreaterThan(0)
    for (const option of Object.keys(command?.options ?? {})) expect(out).toContain(`--${option}`)
    for (const line of out.split('\n')) expect(line.length, line).toBeLessThanOrEqual(150)
  })

  test('an unknown option is a mistake of usage', async () => {
    const { code, err } = await run([name, '--colour'])
    expect(code).toBe(2)
    expect(err).toMatch(/--colour[\s\S]*usage: latchkey/)
  })
})

// Without this law: `latchkey status b` shows the status of another member than b.
test.each([
  ...['start', 'demo', 'doctor', 'status', 'scan', 'sessions', 'console', 'bench'].map((name) => [name]),
  ...[
    'get',
    'watch',
    'txn',
    'locks',
    'release',
    'transfer',
    'backup',
    'restore',
    'recover',
    'completion',
  ].map((name) => [name, '1']),
  ['put', '1', '2'],
  ['incr', '1', '2'],
])('a word too many is a mistake of usage, and nothing is connected: %s', async (...words) => {
  const { code, err, connected } = await run([...words, 'surplus'])
  expect([code, connected]).toEqual([2, []])
  expect(err).toContain('unexpected "surplus"')
})

test('the overview, the version, and what is no command', async () => {
  expect((await run(['--help'])).out).toContain('transfer')
  expect((await run(['help', 'lock'])).out).toMatch(/^usage: latchkey lock/)
  expect((await run(['--version'])).out).toBe('1.2.3\n')
  expect(await run([])).toMatchObject({ code: 2, out: '' })
  expect(await run(['gett'])).toMatchObject({ code: 2, out: '' })
})

test.each([
  [['get']],
  [['get', 'a', 'b']],
  [['put']],
  [['del']],
  [['scan', 'a']],
  [['scan', '--limit', '-1']],
  [['watch']],
  [['watch', 'a', '--prefix', 'b']],
  [['watch', 'a', '--from', '0']],
  [['members', 'add', 'd']],
  [['members', 'constructor']],
  [['members', 'remove']],
  [['backup']],
  [['restore', 'file']],
  [['bench', '--seconds', 'x']],
  [['get', 'a', '--timeout', '1.5s']],
  [['get', '']],
  [['put', '', 'v']],
  [['get', 'a', '--endpoint', 'ftp://x']],
  [['lock', 'k', '--lease', '10', '--', 'true']],
  [['lock', 'k', '--lease', '10ms', '--', 'true']],
  [['lock', 'k', '--wait', 'soon', '--', 'true']],
  [['members', 'list', 'x']],
  [['members', 'replace', 'c', 'd']],
  [['members', 'promote', 'd', '--wait', 'soon']],
])('%j is a mistake of usage', async (args) => {
  expect(await run(args)).toMatchObject({ code: 2, connected: [] })
})

test('a mistake is told by the name of what is missing, in one line, with the usage and where to read more', async () => {
  const errOf = async (...args: string[]) => (await run(args)).err
  expect(await errOf('get')).toBe(
    "latchkey: KEY is missing\nusage: latchkey get KEY\n'latchkey get --help' says more\n",
  )
  expect(await errOf('restore')).toMatch(/^latchkey: FILE is missing\n/)
  expect(await errOf('members', 'add', 'd')).toMatch(/^latchkey: URL is missing: members add ID URL\n/)
  expect(await errOf('demo', '--seconds', '-1')).toMatch(/^latchkey: --seconds needs a value; .*\nusage/)
  expect(await errOf('status', '--colour')).toContain('usage: latchkey status\n')
})

test('what is misspelt is told with the nearest name', async () => {
  const errOf = async (...args: string[]) => (await run(args)).err
  expect(await errOf('stauts')).toContain('there is no command "stauts": did you mean "status"?')
  expect(await errOf('xyzzy')).toContain(`there is no command "xyzzy"; 'latchkey --help' lists them`)
  expect(await errOf('get', 'a', '--endpont', 'ws://a:1')).toContain(
    'there is no option --endpont: did you mean --endpoint?\nusage',
  )
  expect(await errOf('status', '--colour')).toContain('there is no option --colour\n')
  expect(await errOf('members', 'remov', 'd')).toContain(
    `there is no 'members remov': did you mean "remove"?`,
  )
  expect(await errOf('start', '--tokn', 'x')).toContain('did you mean --token?')
})

test('-h is help too; what stands behind -- is not ours', async () => {
  expect(await run(['get', '-h'])).toMatchObject({ code: 0, err: '' })
  expect((await run(['get', '-h'])).out).toBe((await run(['get', '--help'])).out)
})

test('an authority that cannot be read is bad configuration', async () => {
  expect(await run(['get', 'a', '--ca', 'none.pem'])).toMatchObject({
    code: 78,
    err: expect.stringContaining('none.pem cannot be read'),
  })
})

test('nobody reachable: what the system said stands behind the code', async () => {
  const cause = new Error('certificate has expired')
  const { code, err } = await run(['get', 'a'], {
    connect: () => Promise.reject(new LatchkeyError('ERR_NO_LEADER', undefined, { cause })),
  })
  expect([code, err]).toEqual([69, expect.stringMatching(/ERR_NO_LEADER: .*\(certificate has expired\)/)])
})

test('nothing is said twice: neither a reason that the message has in it, nor a default', async () => {
  const cause = new Error('ENOENT: no such file')
  const error = new LatchkeyError(
    'ERR_STORAGE_FAILED',
    'f cannot be restored: ENOENT: no such file. Check it.',
    { cause },
  )
  const { err } = await run(['get', 'a'], { connect: () => Promise.reject(error) })
  expect(err.split('ENOENT')).toHaveLength(2)
  const { out } = await run(['backup', '--help'])
  expect(out.match(/by default/g)).toHaveLength(1)
  expect(out).not.toContain('5s')
})

test('interrupted while it connects, it ends by its signal', async () => {
  const io = fakeIo({
    connect: async () => {
      io.signal('SIGINT')
      throw new LatchkeyError('ERR_ABORTED', undefined, { cause: io.interrupted.reason })
    },
  })
  expect(await main(['get', 'a'], io, parts)).toBe(130)
  expect(io.printed.err).toBe('')
})

test.each([
  [new LatchkeyError('ERR_NO_LEADER'), 69],
  [new LatchkeyError('ERR_UNAUTHORIZED'), 1],
  [new TypeError('key must not be empty'), 2],
  [new Interrupted('SIGINT'), 130],
  [new Interrupted('SIGTERM'), 143],
  [new Interrupted('SIGPIPE'), 0],
  [new Error('anything'), 1],
])('%s is exit code %d', (error, code) => {
  expect(exitOf(error)).toBe(code)
})

describe('start', () => {
  test('--print-config shows each setting with its source', async () => {
    const env = { LATCHKEY_DIR: './b' }
    const files = { 'l.json': '{"heartbeat": 50}' }
    const { code, out } = await run(
      ['start', '--id', 'b', '--config', 'l.json', '--print-config', '--token', 'secret'],
      { env, files },
    )
    expect(code).toBe(0)
    expect(out).toMatch(/^id +b +flag --id$/m)
    expect(out).toMatch(/^dir +\.\/b +env LATCHKEY_DIR$/m)
    expect(out).toMatch(/^heartbeat +50 +file l\.json$/m)
    expect(out).not.toContain('secret')
  })

  test('as JSON', async () => {
    const { out } = await run(['start', '--id', 'b', '--dir', 'b', '--print-config', '--json'])
    expect(JSON.parse(out)).toMatchObject({
      id: { value: 'b', source: 'flag --id' },
      cluster: { source: 'default' },
    })
  })

  test.each([
    [['--dir', 'x']],
    [['--id', 'a', '--dir', 'x', '--listen', '0.0.0.0:1']],
    [['--id', 'a', '--dir', 'x', '--config', 'none.json']],
    [['--id', 'a', '--dir', 'x', '--heartbeat', 'often']],
    [['--id', 'a', '--dir', 'x', '--member', 'b=ws://127.0.0.1:1']],
    [['--id', 'a', '--dir', 'x', '--member', 'a=ws://[::1]:1', '--member', 'b=ws://[::1]:2', '--token', 't']],
  ])('%j is bad configuration', async (args) => {
    const { code, err } = await run(['start', ...args])
    expect(code).toBe(78)
    expect(err).toMatch(/^latchkey: /)
  })

  test('an unknown key in the file is bad configuration, whoever names the file', async () => {
    const world = { env: { LATCHKEY_CONFIG: 'l.json' }, files: { 'l.json': '{"colour": 1}' } }
    expect(await run(['start', '--id', 'a', '--dir', 'x'], world)).toMatchObject({
      code: 78,
      err: expect.stringContaining('"colour"'),
    })
  })
})

test('endpoints come from flags, then LATCHKEY_ENDPOINT, then loopback; the token from the environment', async () => {
  const endpointsOf = async (args: string[], env: Record<string, string>) => {
    const { connected } = await run(['get', 'a', ...args], {
      env,
      connect: () => Promise.reject(new LatchkeyError('ERR_NO_LEADER')),
    })
    return connected[0]
  }
  expect(
    await endpointsOf(['--endpoint', 'ws://x:1', '--endpoint', 'http://y:2', '--endpoint', 'v:5'], {
      LATCHKEY_ENDPOINT: 'ws://z:3',
    }),
  ).toMatchObject({
    endpoints: ['ws://x:1', 'ws://y:2', 'ws://v:5'],
  })
  expect(
    await endpointsOf([], { LATCHKEY_ENDPOINT: 'ws://z:3, wss://w:4', LATCHKEY_TOKEN: 't' }),
  ).toMatchObject({
    endpoints: ['ws://z:3', 'wss://w:4'],
    token: 't',
  })
  expect(await endpointsOf([], {})).toMatchObject({ endpoints: ['ws://127.0.0.1:7001'], token: undefined })
})
