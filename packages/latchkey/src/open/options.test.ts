// Test: each mistake in the options of open() is a TypeError that names the option.

import { resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkOptions, isLoopback, listenAt, type OpenOptions, parseListen } from './options.js'
import { checkTls } from './tls-options.js'

const good: OpenOptions = { id: 'a', dir: 'data' }
const three = { a: 'ws://127.0.0.1:7001', b: 'ws://127.0.0.1:7002', c: 'ws://127.0.0.1:7003' }

test('defaults', () => {
  const settings = checkOptions(good)
  expect(settings).toMatchObject({
    cluster: 'latchkey',
    electionTimeout: 1000,
    heartbeat: 100,
    drift: 0.005,
    sessionLife: 30_000,
    join: false,
  })
  expect(settings.listen).toBeUndefined()
  expect(checkOptions({ ...good, members: three }).listen).toEqual({ host: '127.0.0.1', port: 7001 })
})

test.each([
  ['unknown', { ...good, colour: 1 }, 'colour'],
  ['id', { ...good, id: '' }, 'id'],
  ['id', { ...good, id: 'a b' }, 'id'],
  ['dir', { id: 'a' }, 'dir'],
  ['dir and memory', { ...good, memory: true }, 'memory'],
  ['members without itself', { ...good, members: { b: three.b } }, '"a" is missing'],
  ['members with a bad address', { ...good, members: { a: 'http://x' } }, 'members.a'],
  [
    'M26: two members at one address',
    { ...good, members: { ...three, b: `${three.a}/` } },
    'have the same address',
  ],
  ['members as a list', { ...good, members: [] }, 'members'],
  ['listen', { ...good, listen: '7001' }, 'listen'],
  ['electionTimeout', { ...good, electionTimeout: 0 }, 'electionTimeout'],
  ['electionTimeout NaN', { ...good, electionTimeout: Number.NaN }, 'electionTimeout'],
  ['heartbeat', { ...good, heartbeat: 900 }, 'heartbeat'],
  ['drift', { ...good, drift: 1 }, 'drift'],
  ['sessionLife', { ...good, sessionLife: '1 s' }, 'sessionLife'],
  ['sessionLife', { ...good, sessionLife: 10 }, 'sessionLife'],
  ['join alone', { ...good, join: true }, 'join'],
  ['tls', { ...good, tls: {} }, 'tls must hold cert and key'],
  ['tls null', { ...good, tls: null }, 'tls must not be null'],
  ['tls as a text', { ...good, tls: 'cert' }, 'tls must hold cert and key'],
  ['tls without a key', { ...good, tls: { cert: 'x' } }, 'tls must hold cert and key'],
  ['tls without a certificate', { ...good, tls: { key: 'y' } }, 'tls must hold cert and key'],
  ['tls with an empty certificate', { ...good, tls: { cert: '', key: 'y' } }, 'tls must hold cert and key'],
  ['tls with a number as its key', { ...good, tls: { cert: 'x', key: 5 } }, 'tls must hold cert and key'],
  ['tls unknown', { ...good, tls: { cert: 'x', key: 'y', colour: 1 } }, 'colour'],
  ['tls.ca empty', { ...good, tls: { cert: 'x', key: 'y', ca: '' } }, 'tls.ca'],
  ['tls.clientCert', { ...good, tls: { cert: 'x', key: 'y', ca: 'z', clientCert: 'wanted' } }, 'clientCert'],
  ['clientCert alone', { ...good, tls: { cert: 'x', key: 'y', clientCert: 'required' } }, 'needs tls.ca'],
  ['tls.memberName 5', { ...good, tls: { cert: 'x', key: 'y', ca: 'z', memberName: 5 } }, 'tls.memberName'],
  [
    'tls.memberName',
    { ...good, tls: { cert: 'x', key: 'y', ca: 'z', memberName: 'members' } },
    'tls.memberName',
  ],
  ['tls.ca', { ...good, tls: { cert: 'x', key: 'y', memberName: '{id}' } }, 'tls.memberName needs tls.ca'],
  ['auth', { ...good, auth: { tokens: [] } }, 'auth.tokens'],
  ['auth rights', { ...good, auth: { tokens: [{ token: 'x', rights: ['all'] }] } }, 'rights'],
  ['auth.memberToken', { ...good, auth: { tokens: ['t'], memberToken: [] } }, 'auth.memberToken'],
  [
    'auth.memberToken empty',
    { ...good, auth: { tokens: ['t'], memberToken: ['m', ''] } },
    'auth.memberToken',
  ],
  [
    'auth.memberToken many',
    { ...good, auth: { tokens: ['t'], memberToken: Array(9).fill('m') } },
    'auth.memberToken',
  ],
  ['logger', { ...good, logger: {} }, 'logger'],
  ['signal', { ...good, signal: {} }, 'signal'],
  ['as', { ...good, as: 'text' }, 'as'],
  ['wide open', { ...good, listen: '0.0.0.0:7001' }, 'insecure'],
])('%s', (_, options, named) => {
  expect(() => checkOptions(options as never)).toThrow(TypeError)
  expect(() => checkOptions(options as never)).toThrow(named)
})

test('snapshot: the least and the greatest numbers are allowed, and no others', () => {
  const taken = (snapshot: object) => checkOptions({ ...good, snapshot }).snapshot
  expect(taken({})).toEqual({ everyEntries: 50_000, everyBytes: 16 * 1024 * 1024 })
  expect(taken({ everyEntries: 1, everyBytes: 1 })).toEqual({ everyEntries: 1, everyBytes: 1 })
  const most = { everyEntries: 10_000_000, everyBytes: 2 ** 40 }
  expect(taken(most)).toEqual(most)
  for (const wrong of [0, -1, 1.5, '1', 2 ** 40 + 1])
    for (const name of ['everyEntries', 'everyBytes'])
      expect(() => taken({ [name]: wrong })).toThrow(`snapshot.${name} must be a whole number from 1 to`)
})

test('beyond loopback: with tls and tokens, or openly', () => {
  const wide = { ...good, listen: '0.0.0.0:7001' }
  expect(checkOptions({ ...wide, insecure: true }).listen?.host).toBe('0.0.0.0')
  expect(checkOptions({ ...wide, tls: { cert: 'x', key: 'y' }, auth: { tokens: ['t'] } }).listen?.port).toBe(
    7001,
  )
})

test('an address that only the log names: beyond loopback with tls and tokens, or openly, too', () => {
  const [near, far] = ['ws://127.0.0.1:7001', 'ws://192.0.2.7:7001']
  expect(listenAt(near, good)).toEqual({ host: '127.0.0.1', port: 7001 })
  expect(() => listenAt(far, good)).toThrow(/insecure/)
  expect(() => listenAt(far, { ...good, insecure: false })).toThrow(/insecure/)
  expect(listenAt(far, { ...good, insecure: true })).toEqual({ host: '192.0.2.7', port: 7001 })
  const proven = { ...good, tls: { cert: 'x', key: 'y' }, auth: { tokens: ['t'] } }
  expect(listenAt('wss://member.example', proven)).toEqual({ host: 'member.example', port: 443 })
})

describe('M21: several members and tokens for clients need a proof of members', () => {
  const members = { a: 'ws://127.0.0.1:7001', b: 'ws://127.0.0.1:7002' }
  const tls = { cert: 'x', key: 'y' }
  const several = { ...good, members, auth: { tokens: ['all'] } }

  test.each([
    ['on loopback', several],
    [
      'an admin token is none',
      { ...several, auth: { tokens: [{ token: 'x', rights: ['admin'] as const }] } },
    ],
    ['openly', { ...several, listen: '0.0.0.0:7001', insecure: true }],
    ['under TLS without an authority of members', { ...several, tls }],
    ['one that joins', { ...several, members: { a: members.a }, join: true }],
  ])('%s: refused, with what to add', (_what, options) => {
    expect(() => checkOptions(options)).toThrow(TypeError)
    expect(() => checkOptions(options)).toThrow(/auth\.memberToken.*--member-token/)
  })

  test.each([
    ['with a member token', { ...several, auth: { tokens: ['all'], memberToken: 'm' } }],
    ['with two of them', { ...several, auth: { tokens: ['all'], memberToken: ['m', 'n'] } }],
    ['with certificates of members', { ...several, tls: { ...tls, ca: 'z' } }],
    ['without tokens for clients', { ...good, members }],
    ['alone', { ...several, members: { a: members.a } }],
  ])('%s: started', (_what, options) => {
    expect(checkOptions(options).members).toEqual(options.members)
  })
})

test('tls: texts or bytes, with an authority, names of members and certificates of clients, or without', () => {
  const tls = { cert: Buffer.from('x'), key: new Uint8Array([1]) }
  const whole = { ...tls, ca: Buffer.from('z'), memberName: '{id}.example', clientCert: 'required' as const }
  for (const one of [tls, whole, { ...tls, ca: undefined, memberName: undefined, clientCert: undefined }])
    expect(checkTls(one)).toBe(one)
  expect(checkTls(undefined)).toBeUndefined()
  expect(() => checkTls(null as never)).toThrow(/^tls must hold cert and key/)
})

test('listen and loopback', () => {
  expect(parseListen('[::1]:7')).toEqual({ host: '::1', port: 7 })
  expect(['127.0.0.1', '127.9.9.9', 'localhost', '::1', '0.0.0.0', '10.0.0.1', '::'].map(isLoopback)).toEqual(
    [true, true, true, true, false, false, false],
  )
})

test('a relative dir is that of the moment of the call: the process may change its own afterwards', () => {
  expect(checkOptions(good).dir).toBe(resolve('data'))
})

test.each([
  [20, 4],
  [301, 61],
  [500, 100],
  [600_000, 100],
])('with an election timeout of %i ms the heartbeat is %i ms', (electionTimeout, heartbeat) => {
  expect(checkOptions({ ...good, electionTimeout })).toMatchObject({ electionTimeout, heartbeat })
})
