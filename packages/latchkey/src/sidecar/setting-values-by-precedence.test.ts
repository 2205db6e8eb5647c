// Test: where each setting comes from, which settings are refused, and that no output shows a secret.

import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { LatchkeyError } from '@latchkey/protocol'
import { jsonLogger } from '@latchkey/daemon'
import { checkOptions } from '../open/options.js'
import { sidecarOptions } from './options-from-settings.js'
import { configJson, configText } from './print-config.js'
import { ConfigError, resolveSettings, type Sources } from './setting-values-by-precedence.js'

const THIS_FILE = basename(fileURLToPath(import.meta.url))

const resolve = (sources: Partial<Sources>) => resolveSettings({ flags: {}, env: {}, ...sources })
const file = (json: unknown) => ({ path: 'latchkey.json', text: JSON.stringify(json) })
const base = { id: 'a', dir: './a' }
const optionsOf = (flags: Record<string, unknown>, read = (path: string) => `pem of ${path}`) =>
  sidecarOptions(resolve({ flags: { ...base, ...flags } }), read)

describe('order', () => {
  const all = { flags: { heartbeat: '10' }, env: { LATCHKEY_HEARTBEAT: '20' }, file: file({ heartbeat: 30 }) }

  test('flags, then variables, then the file, then the default', () => {
    expect(resolve(all).heartbeat).toEqual({ value: 10, source: 'flag --heartbeat' })
    expect(resolve({ ...all, flags: {} }).heartbeat).toEqual({ value: 20, source: 'env LATCHKEY_HEARTBEAT' })
    expect(resolve({ file: all.file }).heartbeat).toEqual({ value: 30, source: 'file latchkey.json' })
    expect(resolve({}).electionTimeout).toEqual({ value: 1000, source: 'default' })
  })

  test('an empty variable says nothing', () => {
    expect(resolve({ env: { LATCHKEY_ID: '' } }).id).toEqual({ value: undefined, source: 'default' })
  })

  test('members by flag, variable and file are the same', () => {
    const members = { a: 'ws://127.0.0.1:7001', b: 'ws://127.0.0.1:7002' }
    const texts = ['a=ws://127.0.0.1:7001', 'b=ws://127.0.0.1:7002']
    expect(resolve({ flags: { member: texts } }).member.value).toEqual(members)
    expect(resolve({ env: { LATCHKEY_MEMBER: texts.join(', ') } }).member.value).toEqual(members)
    expect(resolve({ file: file({ members }) }).member.value).toEqual(members)
  })

  test('nested places of the file', () => {
    const settings = resolve({
      file: file({ snapshot: { everyEntries: 9 }, tls: { cert: 'c' }, auth: { tokens: ['t'] } }),
    })
    expect([settings.everyEntries.value, settings.tlsCert.value, settings.token.value]).toEqual([
      9,
      'c',
      ['t'],
    ])
  })
})

describe('refusals', () => {
  test.each([
    [{ file: file({ colour: 1 }) }, 'unknown key "colour"'],
    [{ file: file({ tls: { crt: 'x' } }) }, 'unknown key "tls.crt"'],
    [{ file: file({ snapshot: 5 }) }, 'snapshot must be an object'],
    [{ file: { path: 'x.json', text: '{' } }, 'x.json is not JSON'],
    [{ file: file({ heartbeat: 'soon' }) }, 'heartbeat'],
    [{ file: file({ join: 'yes' }) }, 'join'],
    [{ flags: { member: ['a'] } }, '--member must be ID=URL'],
    [{ flags: { member: ['a=x', 'a=y'] } }, 'named twice'],
    [{ flags: { drift: 'little' } }, '--drift must be a number'],
    [{ flags: { token: ['read+write:'] } }, 'the secret is missing'],
    [{ file: file({ id: 5 }) }, /^\S+: "id" must be a text/],
    [{ env: { LATCHKEY_JOIN: 'perhaps' } }, 'LATCHKEY_JOIN must be true or false'],
    [{ flags: { 'election-timeout': '1.5s' } }, '--election-timeout'],
    [{ flags: { 'session-life': '1.5s' } }, '--session-life'],
    [
      { flags: { token: ['reed:hunter2'] } },
      '--token: there is no such right before the colon: did you mean "read"?',
    ],
    [
      { env: { LATCHKEY_TOKEN: 'read+wirte:hunter2' } },
      'LATCHKEY_TOKEN: there is no such right before the colon: did you mean "write"?',
    ],
    [{ flags: { token: ['hunter2:hunter3'] } }, 'read+write+admin:SECRET'],
    [{ flags: { token: [':hunter2'] } }, 'read+write+admin:SECRET'],
  ])('%j', (sources, message) => {
    expect(() => resolve(sources)).toThrow(ConfigError)
    expect(() => resolve(sources)).toThrow(message)
  })

  test.each([
    [{ id: undefined }, 'id is missing: give --id, LATCHKEY_ID'],
    [{ dir: undefined }, 'dir is missing: give --dir'],
    [{ 'allow-origin': ['*'] }, 'allow-origin must be an origin'],
    [{ 'allow-host': ['a:7001'] }, 'allow-host must be a name'],
    [{ 'allow-host': [''] }, 'allow-host must be a name'],
    [{ 'allow-origin': ['https://app.example/'] }, 'allow-origin must be an origin'],
    [{ listen: '0.0.0.0:7001' }, 'beyond loopback'],
    [{ listen: 'nowhere' }, 'listen'],
    [{ 'session-life': '500' }, 'sessionLife'],
    [{ 'tls-cert': 'c' }, 'go together'],
    [{ 'tls-member-name': '{id}' }, 'go together'],
    [{ 'tls-cert': 'c', 'tls-key': 'k', 'tls-ca': 'a', 'tls-member-name': 'x' }, 'tls.memberName must'],
    [{ 'member-token': ['t'] }, 'at least one token'],
    [{ 'log-level': 'loud' }, 'log-level'],
    [{ 'max-connections': '0' }, 'max-connections'],
  ])('%j', (flags, message) => {
    expect(() => optionsOf(flags)).toThrow(ConfigError)
    expect(() => optionsOf(flags)).toThrow(message)
  })

  test('a certificate that cannot be read is named', () => {
    const read = () => {
      throw new Error('no such file')
    }
    expect(() => optionsOf({ 'tls-cert': 'c.pem', 'tls-key': 'k.pem' }, read)).toThrow(
      /c\.pem cannot be read: no such file/,
    )
  })
})

test('beyond loopback with tls and a token, or openly insecure', () => {
  const wide = { listen: '0.0.0.0:7001' }
  expect(optionsOf({ ...wide, insecure: true }).listen).toEqual({ host: '0.0.0.0', port: 7001 })
  const safe = optionsOf({
    ...wide,
    'tls-cert': 'c',
    'tls-key': 'k',
    token: ['read:one', 'read+write:two', 'admin:a:b', 'three'],
  })
  expect(safe.open.tls).toEqual({ cert: 'pem of c', key: 'pem of k', files: { cert: 'c' } })
  expect(safe.open.auth?.tokens).toEqual([
    { token: 'one', rights: ['read'] },
    { token: 'two', rights: ['read', 'write'] },
    { token: 'a:b', rights: ['admin'] },
    { token: 'three' },
  ])
})

test('a setting that is not given has the default that the same option of open() has', () => {
  const { listen: _, ...given } = checkOptions(optionsOf({}).open)
  const { listen: __, ...library } = checkOptions({ id: base.id, dir: base.dir })
  expect(given).toEqual(library)
})

test('a duration is a number of milliseconds, as a text or as a number, or a text with a unit', () => {
  for (const [given, ms] of [
    ['20000', 20_000],
    ['20s', 20_000],
  ] as const) {
    const { open, grace } = optionsOf({ 'session-life': given, grace: given, 'election-timeout': given })
    expect([open.sessionLife, grace, open.electionTimeout]).toEqual([ms, ms, ms])
  }
})

test('a token on the command line is warned of, one in the environment or a file is not', () => {
  const warned = (flags: Record<string, unknown>, env = {}) =>
    sidecarOptions(resolveSettings({ flags: { id: 'a', memory: true, ...flags }, env }), () => '').warnings
  expect(warned({ token: ['t'] })).toEqual([expect.stringContaining('--tokens FILE')])
  expect(warned({ token: ['t'], 'member-token': ['m'] })).toHaveLength(2)
  expect(warned({}, { LATCHKEY_TOKEN: 't', LATCHKEY_MEMBER_TOKEN: 'm' })).toEqual([])
  expect(() => warned({ token: ['t', 'read:t'] })).toThrow(/auth.tokens\[0\] and auth.tokens\[1\]/)
})

test('M21: several members with tokens for clients need a member token, also on loopback', () => {
  const several = {
    token: ['read:one', 'two'],
    member: ['a=ws://127.0.0.1:7001', 'b=ws://127.0.0.1:7002'],
  }
  expect(() => optionsOf(several)).toThrow(ConfigError)
  expect(() => optionsOf(several)).toThrow(/--member-token/)
  const certificates = { 'tls-cert': 'c', 'tls-key': 'k', 'tls-ca': 'ca' }
  for (const more of [certificates, { 'member-token': ['m'] }, { 'member-token': ['m', 'n'] }])
    expect(optionsOf({ ...several, ...more }).listen.port).toBe(7001)
})

test('a member token may be one or several: by flag, by variable, in the file; none is shown or logged', () => {
  const given = [
    resolve({ flags: { ...base, token: ['t'], 'member-token': ['one', 'two'] } }),
    resolve({ flags: { ...base, token: ['t'] }, env: { LATCHKEY_MEMBER_TOKEN: 'one,two' } }),
    resolve({ flags: base, file: file({ auth: { tokens: ['t'], memberToken: ['one', 'two'] } }) }),
  ]
  for (const settings of given) {
    const options = sidecarOptions(settings, () => '')
    expect(options.open.auth?.memberToken).toEqual(['one', 'two'])
    expect(options.secrets).toEqual(['t', 'one', 'two'])
  }
  const lone = resolve({ flags: base, file: file({ auth: { tokens: ['t'], memberToken: 'one' } }) })
  expect(sidecarOptions(lone, () => '').open.auth?.memberToken).toEqual(['one'])
})

test('M22: the id of the cluster, by flag and by variable', () => {
  expect(optionsOf({ 'cluster-id': 'x1' }).open.clusterId).toBe('x1')
  expect(resolve({ flags: base, env: { LATCHKEY_CLUSTER_ID: 'x2' } }).clusterId.value).toBe('x2')
  expect(() => optionsOf({ 'cluster-id': 'x y' })).toThrow(ConfigError)
})

test('without members and address it listens on loopback', () => {
  expect(optionsOf({}).listen).toEqual({ host: '127.0.0.1', port: 7001 })
  expect(optionsOf({ member: ['a=ws://127.0.0.1:7009'] }).listen).toEqual({ host: '127.0.0.1', port: 7009 })
})

test('the printed configuration names sources and shows no secret', () => {
  const settings = resolve({
    flags: { ...base, token: ['read:hunter2', 'swordfish'] },
    env: { LATCHKEY_MEMBER_TOKEN: 'opensesame' },
  })
  const text = configText(settings)
  expect(text).toMatch(/^id +a +flag --id$/m)
  expect(text).toMatch(/^token +read:\*\*\*,\*\*\* +flag --token$/m)
  expect(text).toMatch(/^member-token +\*\*\* +env LATCHKEY_MEMBER_TOKEN$/m)
  expect(text).toMatch(/^cluster +latchkey +default$/m)
  expect(configJson(settings)).toMatchObject({
    id: { value: 'a', source: 'flag --id' },
    listen: { value: '127.0.0.1:7001', source: 'default' },
    heartbeat: { value: 100, source: 'default' },
  })
  for (const secret of ['hunter2', 'swordfish', 'opensesame']) {
    expect(text + JSON.stringify(configJson(settings))).not.toContain(secret)
  }
})

test('a log line is JSON and holds no secret, wherever it stands', () => {
  const lines: string[] = []
  const log = jsonLogger(
    'info',
    () => ['hunter2', 'a"quoted"one'],
    (line) => lines.push(line),
  )
  log.debug('not at this level')
  log.warn('refused hunter2', {
    header: 'Bearer hunter2',
    deep: { text: 'a"quoted"one' },
    error: new Error('with hunter2'),
  })
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    msg: 'refused ***',
    header: 'Bearer ***',
    deep: { text: '***' },
    error: { message: 'with ***' },
  })
  expect(lines[0]).not.toMatch(/hunter2|quoted/)
})

test('an error is one short line of code and message; its stack is shown at the level debug alone', () => {
  const lines: string[] = []
  const errorAt = (level: 'info' | 'debug', error: Error) => {
    jsonLogger(
      level,
      () => [],
      (line) => lines.push(line),
    ).error('it failed', { error })
    return (JSON.parse(lines.at(-1) ?? '') as { error: Record<string, unknown> }).error
  }
  const failed = new LatchkeyError('ERR_STORAGE_FAILED', `the disk\n${'x'.repeat(1_000)}`)
  const short = errorAt('info', failed)
  expect(short).toMatchObject({
    code: 'ERR_STORAGE_FAILED',
    message: expect.stringMatching(/^the disk x+…$/),
  })
  expect([short['stack'], lines[0]?.length]).toEqual([
    undefined,
    expect.toSatisfy((length: number) => length < 400),
  ])
  expect(errorAt('debug', failed)).toMatchObject({ stack: expect.stringContaining(THIS_FILE) })
  // What was not expected shows where in the code it was.
  const mistake = errorAt('info', new TypeError('x is undefined'))
  expect(mistake).toMatchObject({
    message: 'x is undefined',
    at: expect.toSatisfy((at: string) => at.startsWith(`${THIS_FILE}:`) && /:\d+:\d+$/.test(at)),
  })
})
