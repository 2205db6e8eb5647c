// Test: if @latchkey/daemon is missing, the error says what to install. Other errors are not changed.

import { expect, test } from 'vitest'
import { fakeIo } from '../../test/fake-io.js'
import { loadDaemon } from './load-daemon-package.js'
import { main } from './main.js'

/** As Node says it. */
const notFound = (name: string) =>
  Object.assign(new Error(`Cannot find package '${name}' imported from run.js`), {
    code: 'ERR_MODULE_NOT_FOUND',
  })

test('start without the package says what to install, with the exit code of a wrong configuration', async () => {
  const io = fakeIo()
  const parts = {
    version: '0',
    sidecar: () => loadDaemon(() => Promise.reject(notFound('@latchkey/daemon'))),
    restore: () => Promise.reject(new Error('not here')),
    recover: () => Promise.reject(new Error('not here')),
  }
  expect(await main(['start', '--id', 'a', '--memory'], io, parts)).toBe(78)
  expect(io.printed.err).toContain('npm install @latchkey/daemon')
})

test('another package that is missing is not blamed on this one', async () => {
  await expect(loadDaemon(() => Promise.reject(notFound('ws')))).rejects.toThrow("Cannot find package 'ws'")
})
