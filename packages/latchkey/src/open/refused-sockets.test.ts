// Test: a sidecar and an embedded member soon close sockets that they have refused or that are silent.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect as dial, type Socket } from 'node:net'
import { tmpdir, uptime } from 'node:os'
import { join } from 'node:path'
import { silentLogger, systemClock } from '@latchkey/base'
import { encodeHello } from '@latchkey/protocol'
import { describe, expect, onTestFinished, test } from 'vitest'
import { unlessStalled } from '../contract/testing/small-test-functions.js'
import { sidecarOptions } from '../sidecar/options-from-settings.js'
import { resolveSettings } from '../sidecar/setting-values-by-precedence.js'
import { Sidecar } from '../sidecar/member-and-port-lifetime.js'
import { openMember } from './index.js'
import { open } from './open.js'
import { freePorts } from './testing/free-ports.js'

/** Beyond the 5 s of a stranger, with room for a machine that stands still. */
const SILENT_MS = 12_000
/** Beyond the half second of who is refused. */
const REFUSED_MS = 4_000

const HEAD = 'Host: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n'
const upgrade = (path: string, more = '', key = 'AAAAAAAAAAAAAAAAAAAAAA==') =>
  `GET ${path} HTTP/1.1\r\n${HEAD}Sec-WebSocket-Key: ${key}\r\n${more}\r\n`

/** A frame as a client masks it, with a mask of zeros. */
function frame(payload: Uint8Array): Buffer {
  const head = Buffer.from([0x82, 0x80 | 126, payload.length >> 8, payload.length & 0xff, 0, 0, 0, 0])
  return Buffer.concat([head, payload])
}
const hello = (token: string) =>
  frame(encodeHello({ cluster: 'latchkey', clusterId: undefined, token, least: 1, most: 1 }))

/** What somebody says, how soon the socket has to be gone, and what is said once an answer has come. */
const CASES: [what: string, within: number, ...says: (string | Buffer)[]][] = [
  ['403: a page asks for a client', REFUSED_MS, upgrade('/clients', 'Origin: https://evil.example\r\n')],
  ['403: a page asks for a member', REFUSED_MS, upgrade('/members', 'Origin: https://evil.example\r\n')],
  ['404: another path', REFUSED_MS, upgrade('/elsewhere')],
  ['400: no WebSocket key', REFUSED_MS, upgrade('/clients', '', 'short')],
  ['400: no HTTP', REFUSED_MS, 'what is this?\r\n\r\n'],
  ['431: too long a head', REFUSED_MS, `GET / HTTP/1.1\r\nA: ${'a'.repeat(20_000)}\r\n`],
  ['a wrong token, and no answer to the close', REFUSED_MS, upgrade('/clients'), hello('wrong')],
  [
    'nonsense after the greeting, and no answer to the close',
    REFUSED_MS,
    upgrade('/clients'),
    hello('right'),
    frame(Buffer.from('nonsense')),
  ],
  ['nothing', SILENT_MS],
  ['408: half a head', SILENT_MS, 'GET /status HTTP/1.1\r\nHost: localhost\r\n'],
  ['a client that never greets', SILENT_MS, upgrade('/clients')],
  ['a member that never greets', SILENT_MS, upgrade('/members')],
]

/**
 * Never closes, and writes on until its other side is really gone: an end from there alone goes unnoticed.
 */
async function goneAfter(port: number, says: readonly (string | Buffer)[]): Promise<number> {
  const socket: Socket = dial({ port, host: '127.0.0.1', allowHalfOpen: true })
  onTestFinished(() => void socket.destroy())
  socket.on('data', () => {})
  for (const [i, words] of says.entries()) {
    const heard = new Promise((resolve) => {
      socket.once('data', resolve)
      socket.once('end', resolve)
    })
    socket.write(words)
    if (i < says.length - 1) await heard
  }
  const began = performance.now()
  await new Promise<void>((resolve) => {
    const poke = setInterval(() => {
      // A byte of a frame, of a head, or of nothing: what is gone answers it with a reset.
      if (says.length === 0 || socket.readableEnded) socket.write('\r\n')
    }, 100)
    socket.on('error', () => {})
    socket.on('close', () => {
      clearInterval(poke)
      resolve()
    })
  })
  return performance.now() - began
}

const ports = { clock: systemClock(uptime), logger: silentLogger, openMember }

async function sidecar(flags: Record<string, unknown> = {}): Promise<number> {
  const all = { id: 'a', memory: true, listen: '127.0.0.1:0', token: ['right'], ...flags }
  const started = await Sidecar.open(
    sidecarOptions(resolveSettings({ flags: all, env: {} }), (path) => readFileSync(path, 'utf8')),
    ports,
  )
  onTestFinished(() => started.stop())
  return started.port
}

async function embedded(): Promise<number> {
  const [port = 0] = await freePorts(1)
  const store = await open({
    id: 'a',
    memory: true,
    members: { a: `ws://127.0.0.1:${port}` },
    auth: { tokens: ['right'] },
    logger: silentLogger,
  })
  onTestFinished(() => store.close())
  await store.ready()
  return port
}

describe('C20: the socket is gone in time', () => {
  test.each([
    ['a sidecar', sidecar],
    ['an embedded member', embedded],
  ])('of %s, whatever its other side does', async (_, start) => {
    const port = await start()
    await unlessStalled(1_000, async () => {
      const late: string[] = []
      const attempts = CASES.map(async ([what, within, ...says]) => {
        const millis = await Promise.race([
          goneAfter(port, says),
          new Promise<number>((resolve) => setTimeout(resolve, within + 100, Number.POSITIVE_INFINITY)),
        ])
        if (millis > within) late.push(what)
      })
      await Promise.all(attempts)
      expect(late).toEqual([])
    })
  })

  test('of a TLS handshake that was never begun, or was left in the middle', async () => {
    const port = await sidecar(certificate())
    const began = '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'
    await unlessStalled(1_000, async () => {
      const gone = Promise.all([goneAfter(port, []), goneAfter(port, [Buffer.from(began, 'latin1')])])
      const late = new Promise((resolve) => setTimeout(resolve, SILENT_MS, 'late'))
      expect(await Promise.race([gone, late])).not.toBe('late')
    })
  })
})

function certificate(): Record<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-refused-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const args = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost'
  execFileSync('openssl', [...args.split(' '), '-keyout', key, '-out', cert], { stdio: 'ignore' })
  return { 'tls-cert': cert, 'tls-key': key }
}
