// Test: if the operating system refuses something at a start, the error names the address or directory, the
// reason, and what to do.

import { LatchkeyError } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { withDisk } from './disk-errors.js'
import { listenTrouble } from './listen-errors.js'
import { open } from './open.js'
import { addresses } from './testing/free-ports.js'

const system = (code: string, more: object = {}) =>
  Object.assign(new Error(`${code}: it said`), { code, ...more })
const at = { host: '127.0.0.1', port: 7001 }

test.each(['EADDRINUSE', 'EMFILE', 'EAI_AGAIN'])('an address that may be had later: %s', (code) => {
  const cause = system(code)
  const error = listenTrouble(at, cause)
  expect(error).toMatchObject({ code: 'ERR_BUSY', retryable: true, outcome: 'not-applied', cause })
  for (const word of ['127.0.0.1:7001', code, 'listen', 'members']) expect(error.message).toContain(word)
})

test.each(['EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EWHATEVER'])(
  'an address that is a mistake: %s',
  (code) => {
    const cause = system(code)
    const error = listenTrouble({ ...at, host: '::1' }, cause)
    expect(error).toBeInstanceOf(TypeError)
    expect(error.cause).toBe(cause)
    expect(error.message).toMatch(/^listen: /)
    for (const word of ['[::1]:7001', code]) expect(error.message).toContain(word)
  },
)

test('an address of another machine, and a certificate that is none, name their options', async () => {
  const { a } = await addresses(['a'])
  const store = { id: 'a', memory: true, members: { a } }
  await expect(open({ ...store, listen: '192.0.2.7:7001', insecure: true })).rejects.toThrow(
    /^listen: .*192\.0\.2\.7:7001.*EADDRNOTAVAIL/,
  )
  await expect(open({ ...store, tls: { cert: 'x', key: 'y' } })).rejects.toThrow(/^tls: /)
})

const opening = (error: unknown) =>
  withDisk('The directory d cannot be used', () => Promise.reject(error)).catch((told: unknown) => told)

test.each([
  ['a write into an open file, which names no path', system('ENOSPC', { syscall: 'write' })],
  ['a path', system('EACCES', { syscall: 'mkdir', path: 'd' })],
  ['the store of rows', new LatchkeyError('ERR_STORAGE_FAILED', 'LevelDB failed: No space left on device.')],
])('D6: what the disk refuses at a start has applied nothing: %s', async (_, cause) => {
  const error = (await opening(cause)) as LatchkeyError
  expect(error).toMatchObject({ code: 'ERR_STORAGE_FAILED', outcome: 'not-applied', cause })
  expect(error.message).toMatch(/^The directory d cannot be used: .*[^.]\. Check the path.*room on the disk/)
})

test.each([
  new TypeError('a mistake'),
  new LatchkeyError('ERR_CORRUPT', 'wal-1 is damaged'),
  new LatchkeyError('ERR_STORAGE_FAILED', 'Said well.', { outcome: 'not-applied' }),
  system('ECONNREFUSED', { syscall: 'connect', address: '127.0.0.1' }),
])('what is no fault of the disk, or was told well, stays as it is: %s', async (error) => {
  expect(await opening(error)).toBe(error)
})
