// Test: which events end `latchkey start`, and with which exit code: a signal, a second signal, a member that
// stops by itself, and a member that cannot open.

import { LatchkeyError } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { fakeIo } from '../../test/fake-io.js'
import { ConfigError } from '../sidecar/index.js'
import { Reloader } from '../sidecar/certificate-and-token-reloader.js'
import { main } from './main.js'
import type { SidecarParts } from './start-command.js'

interface Script {
  readonly open?: () => Promise<void>
  readonly failed?: Promise<Error>
  readonly stop?: () => Promise<void>
}

function setup({ open = async () => {}, failed = new Promise(() => {}), stop = async () => {} }: Script) {
  const told: string[] = []
  const sidecar = {
    failed,
    stop: () => (told.push('stop'), stop()),
    abandon: async () => void told.push('abandon'),
    reload: () => void told.push('reload'),
  }
  const opening = async () => {
    await open()
    told.push('open')
    return sidecar
  }
  const silent = () => {}
  const logger = { debug: silent, info: silent, warn: silent, error: silent }
  const run = {
    Sidecar: { open: opening },
    jsonLogger: () => logger,
    openMember: silent,
    Reloader,
  } as unknown as SidecarParts
  const io = fakeIo()
  const parts = {
    version: '0',
    sidecar: async () => run,
    restore: () => Promise.reject(new Error('not here')),
    recover: () => Promise.reject(new Error('not here')),
  }
  return { io, told, ended: main(['start', '--id', 'a', '--memory'], io, parts) }
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s stops it gracefully, exit code 0', async (signal) => {
  const { io, told, ended } = setup({})
  await expect.poll(() => told).toEqual(['open'])
  io.signal(signal)
  expect(await ended).toBe(0)
  expect(told).toEqual(['open', 'stop'])
})

test('C41: after a SIGHUP while the member opens, the files are read again', async () => {
  const held: { hangUp?: () => void } = {}
  const { io, told, ended } = setup({ open: async () => held.hangUp?.() })
  held.hangUp = () => io.hangUp()
  await expect.poll(() => told).toEqual(['open', 'reload'])
  io.signal('SIGTERM')
  expect(await ended).toBe(0)
})

test('a signal that comes while the member opens is not lost', async () => {
  const held: { interrupt?: () => void } = {}
  const { io, told, ended } = setup({ open: async () => held.interrupt?.() })
  held.interrupt = () => io.signal('SIGTERM')
  expect(await ended).toBe(0)
  expect(told).toEqual(['open', 'stop'])
})

test('asked twice, it does not wait any longer', async () => {
  const { io, told, ended } = setup({ stop: () => new Promise(() => {}) })
  await expect.poll(() => told).toEqual(['open'])
  io.signal('SIGTERM')
  io.signal('SIGINT')
  expect(await ended).toBe(130)
})

test('D4: a member that stops by itself: its code on standard error, exit code 1', async () => {
  const { io, told, ended } = setup({ failed: Promise.resolve(new LatchkeyError('ERR_STORAGE_FAILED')) })
  expect(await ended).toBe(1)
  expect(io.printed.err).toContain('ERR_STORAGE_FAILED')
  expect(told).toEqual(['open', 'abandon'])
})

test.each([
  [new LatchkeyError('ERR_CORRUPT', 'log-7 is damaged'), 1, 'ERR_CORRUPT: log-7 is damaged'],
  [new LatchkeyError('ERR_DIR_LOCKED'), 1, 'ERR_DIR_LOCKED'],
  [new ConfigError('cannot listen on 127.0.0.1:1: EACCES'), 78, 'EACCES'],
])('a member that cannot open: %s is %d', async (error, code, text) => {
  const { io, ended } = setup({ open: () => Promise.reject(error) })
  expect(await ended).toBe(code)
  expect(io.printed.err).toContain(text)
})
