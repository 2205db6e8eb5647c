// Test: connect() has the documented default for each option, and refuses values outside of the allowed
// range.

import { silentLogger } from '@latchkey/base'
import type { As } from '@latchkey/protocol'
import { expect, test } from 'vitest'
import { type ConnectOptions, checkConnect } from './connect-options.js'

const URL = 'ws://127.0.0.1:1'
const settings = (options?: ConnectOptions<As>) => checkConnect(URL, options)

test('what is left out is what the documents say, also where it is said to be undefined', () => {
  const absent = Object.fromEntries(
    ['token', 'cluster', 'clusterId', 'timeout', 'tls', 'as', 'sessionLife', 'drift', 'signal'].map(
      (name) => [name, undefined],
    ),
  )
  for (const options of [undefined, {}, absent]) {
    const { logger, ...rest } = settings(options)
    expect(rest).toEqual({
      seeds: [URL],
      token: undefined,
      cluster: 'latchkey',
      clusterId: undefined,
      timeout: 5_000,
      tls: undefined,
      as: 'bytes',
      onUndecodable: 'error',
      sessionLife: 30_000,
      // A client that counts on better clocks than the members do would believe in a hold that is over.
      drift: 0.005,
      tracing: true,
      signal: undefined,
    })
    expect(typeof logger.warn).toBe('function')
    expect(logger).not.toBe(silentLogger)
  }
})

test('what is given is taken as it is', () => {
  const { signal } = new AbortController()
  const tls = { ca: 'a', cert: Uint8Array.of(1), key: 'k' }
  const given = {
    token: 't',
    cluster: 'c',
    clusterId: 'i',
    as: 'json',
    onUndecodable: 'bytes',
    drift: 0,
    tracing: false,
    signal,
    tls,
  } as const
  const made = settings({ ...given, timeout: '2s', sessionLife: '1m', logger: false })
  expect(made).toEqual({ ...given, timeout: 2_000, sessionLife: 60_000, logger: silentLogger, seeds: [URL] })
  const logger = { ...silentLogger }
  expect(settings({ logger }).logger).toBe(logger)
  expect(checkConnect([URL, 'wss://[::1]:2/'], undefined).seeds).toEqual([URL, 'wss://[::1]:2/'])
})

test('bounds: the last value within is taken, the first one beyond is refused and named', () => {
  expect(settings({ drift: 0.1 }).drift).toBe(0.1)
  expect(settings({ sessionLife: 1_000 }).sessionLife).toBe(1_000)
  expect(settings({ sessionLife: '24h' }).sessionLife).toBe(86_400_000)
  for (const drift of [-0.001, 0.1001, Number.NaN, '0.005' as unknown as number])
    expect(() => settings({ drift })).toThrow(/^drift/)
  for (const sessionLife of [999, 86_400_001]) expect(() => settings({ sessionLife })).toThrow(/^sessionLife/)
})

test('an option that is unknown, null or half of a pair is a TypeError that names it', () => {
  const bad: [object, RegExp][] = [
    [{ tokn: 'x' }, /tokn/],
    [{ token: null }, /^token must not be null/],
    [{ token: '' }, /^token/],
    [{ clusterId: 7 }, /^clusterId/],
    [{ tls: { cert: 'x' } }, /^tls\.cert and tls\.key/],
    [{ tls: { key: 'x' } }, /^tls\.cert and tls\.key/],
    [{ tls: { ca: 5 } }, /^tls\.ca/],
    [{ tls: 'x' }, /^tls/],
    [{ logger: { ...silentLogger, warn: undefined } }, /^logger must be false, or have the functions/],
    [{ logger: true }, /^logger/],
    [5 as unknown as object, /^options/],
  ]
  for (const [options, message] of bad) {
    expect(() => settings(options as ConnectOptions)).toThrow(TypeError)
    expect(() => settings(options as ConnectOptions)).toThrow(message)
  }
  for (const url of ['ws://', 'http://a:1', 'a:1', '', 5, null, undefined])
    expect(() => checkConnect([url], undefined)).toThrow(/^urls\[0\] must be an address/)
  for (const urls of [[], undefined, 5, {}]) expect(() => checkConnect(urls, undefined)).toThrow(/^urls must/)
})
