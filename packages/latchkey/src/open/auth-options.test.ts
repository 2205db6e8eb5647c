// Test: tokens from options and from a file: which ones are refused, the messages, and that no message
// contains a token.

import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { checkAuth } from './auth-options.js'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-auth-'))
afterAll(() => rmSync(folder, { recursive: true }))

const digest = (text: string) => createHash('sha256').update(text).digest('hex')
const SECRET = 'hunter2-hunter2'

let files = 0
function fileOf(content: unknown, mode = 0o600): string {
  const path = join(folder, `tokens-${++files}.json`)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  chmodSync(path, mode)
  return path
}

const refusal = (auth: unknown): string => {
  try {
    checkAuth(auth as never)
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError)
    return (error as Error).message
  }
  return 'it was taken'
}

const tokens = (...list: unknown[]) => ({ tokens: list })

test.each([
  ['nothing', {}, 'at least one token'],
  ['no list', { tokens: 'x' }, 'auth.tokens must be a list'],
  ['an empty list', tokens(), 'at least one token'],
  [
    'a name that is none',
    { ...tokens('x'), token: SECRET },
    'unknown field "token" of auth: did you mean "tokens"?',
  ],
  ['an empty token', tokens(''), 'auth.tokens[0]'],
  ['no entry', tokens('x', null), 'auth.tokens[1]'],
  [
    'a field that is none',
    tokens({ token: SECRET, right: ['read'] }),
    'unknown field "right" of auth.tokens[0]: did you mean "rights"?',
  ],
  ['neither text nor digest', tokens({ rights: ['read'] }), 'one of token, sha256 and cert'],
  ['both', tokens({ token: SECRET, sha256: digest(SECRET) }), 'one of token, sha256 and cert'],
  ['half a digest', tokens({ sha256: digest(SECRET).slice(1) }), 'sha256'],
  ['the digest of nothing', tokens({ sha256: digest('') }), 'sha256'],
  ['no rights', tokens({ token: SECRET, rights: [] }), 'rights'],
  ['a right that is none', tokens({ token: SECRET, rights: ['root'] }), 'rights'],
  ['a name of many lines', tokens({ token: SECRET, name: 'a\nb' }), 'name'],
  ['an empty prefix', tokens({ token: SECRET, rights: ['read'], keys: [''] }), 'auth.tokens[0].keys'],
  ['prefixes as a text', tokens({ token: SECRET, rights: ['read'], locks: 'a/' }), 'auth.tokens[0].locks'],
  ['too many prefixes', tokens({ token: SECRET, rights: ['read'], keys: Array(65).fill('a') }), 'at most 64'],
  ['an admin with prefixes', tokens({ token: SECRET, rights: ['admin'], keys: ['a/'] }), "'admin'"],
  ['all rights with prefixes', tokens({ token: SECRET, locks: ['a/'] }), "'admin'"],
  [
    'a token twice',
    tokens(SECRET, 'x', { token: SECRET, rights: ['read'] }),
    'auth.tokens[0] and auth.tokens[2]',
  ],
  [
    'a right that is misspelt',
    tokens(`reed:${SECRET}`),
    'auth.tokens[0]: there is no such right before the colon: did you mean "read"?',
  ],
  ['a text with a colon', tokens(`abc:${SECRET}`), 'read+write+admin:SECRET'],
  ['a token behind no right', tokens('read:'), 'the secret is missing'],
  [
    'an entry with a colon and no rights',
    tokens({ token: `read:${SECRET}` }),
    "rights: ['read', 'write', 'admin']",
  ],
  ['the same in a file', { file: fileOf(tokens(`wirte:${SECRET}`)) }, 'did you mean "write"?'],
  ['a token and its digest', tokens(SECRET, { sha256: digest(SECRET) }), 'auth.tokens[0] and auth.tokens[1]'],
  ['no file', { file: join(folder, 'absent.json') }, 'ENOENT'],
  ['a folder', { file: folder }, 'is not a file'],
  ['an empty path', { file: '' }, 'auth.file'],
])('%s is refused', (_, auth, named) => {
  expect(refusal(auth)).toContain(named)
  expect(refusal(auth)).not.toContain(SECRET)
})

test('C47: a text may name its rights in front, in a file too; a secret with a colon has them named', () => {
  const entries = [`read:${SECRET}`, 'write+admin:a:b', { token: 'c:d', rights: ['read'] }]
  const known = [
    { token: SECRET, rights: ['read'] },
    { token: 'a:b', rights: ['write', 'admin'] },
    { token: 'c:d', rights: ['read'] },
  ]
  expect(checkAuth(tokens(...entries) as never)?.tokens).toEqual(known)
  expect(checkAuth({ file: fileOf(tokens(...entries)) })?.tokens).toEqual(known)
})

test('a file is read with the tokens beside it; it may hold the member token', () => {
  const file = fileOf({
    tokens: [{ sha256: digest(SECRET), name: 'billing', rights: ['read'], keys: ['b/'] }],
    memberToken: ['m'],
  })
  const auth = checkAuth({ tokens: ['own'], file })
  expect(auth?.tokens).toEqual([
    { token: 'own' },
    { sha256: digest(SECRET), name: 'billing', rights: ['read'], keys: ['b/'] },
  ])
  expect(auth?.memberToken).toEqual(['m'])
  expect(checkAuth({ file })?.tokens).toHaveLength(1)
  expect(refusal({ file, memberToken: 'n' })).toContain('auth.memberToken is also in')
  expect(refusal({ file, tokens: [SECRET] })).toContain(`auth.tokens[0] and ${file}: tokens[0]`)
})

test.each([
  '{"tokens": ["hunter2-hunter2", }',
  '["hunter2-hunter2"]',
  '',
  'null',
  '{"tokens":["hunter2-hunter2"], "x": 1}',
])('a file that is none is refused without a word of it: %s', (content) => {
  const said = refusal({ file: fileOf(content) })
  expect(said).toContain('tokens-')
  expect(said).not.toContain('hunter2')
})

test('a file that others of the machine may read or change is refused, with the command that closes it', () => {
  const modes = (list: number[]) =>
    list.map((mode) => refusal({ file: fileOf(tokens('t'), mode) }).includes('run chmod 600'))
  expect(modes([0o644, 0o604, 0o601, 0o602, 0o620, 0o660, 0o666])).toEqual(Array(7).fill(true))
  // As it is given by systemd: 0400, or 0440 with a list of its own of who may read.
  expect(modes([0o600, 0o400, 0o440, 0o640])).toEqual(Array(4).fill(false))
})
