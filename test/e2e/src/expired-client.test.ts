// Test: if the certificate of a client has expired, every HTTP route refuses it and no call of a store
// begins. With a valid certificate, the same routes accept the same client. So only the date causes the
// refusals.

import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '@latchkey/client'
import { authority, type Pair } from '@latchkey/test-chaos/certificates'
import { freePorts } from '@latchkey/test-chaos/ports'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROUTE_EXAMPLES } from '../../../packages/latchkey/dist/http/testing/route-examples.js'

const LATCHKEY = fileURLToPath(new URL('../../../packages/latchkey/bin/latchkey.js', import.meta.url))
const ours = authority('ours')
const good = ours.issue('billing')
const expired = ours.issue('billing', { from: new Date(Date.now() - 9e7), to: new Date(Date.now() - 8e7) })
let folder: string
let member: ChildProcess
let at: string

/** The status, with which the answer begins: that of a watch never ends. undefined: nobody answers. */
function ask(method: string, path: string, pair?: Pair, body?: string): Promise<number | undefined> {
  const shown = pair === undefined ? {} : { cert: pair.cert, key: pair.key }
  const options = {
    method,
    ca: ours.cert,
    agent: false,
    signal: AbortSignal.timeout(20_000),
    ...shown,
  } as const
  return new Promise((resolve) => {
    const asked = request(`https://${at}${path}`, options, (response) => {
      resolve(response.statusCode)
      response.on('error', () => {})
      asked.destroy()
    })
    asked.on('error', () => resolve(undefined))
    asked.end(body)
  })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-expired-'))
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text, { mode: 0o600 })
    return join(folder, name)
  }
  const own = ours.issue('member')
  const [port] = await freePorts(1)
  at = `127.0.0.1:${port}`
  const tokens = { tokens: [{ cert: 'billing', rights: ['read', 'write', 'admin'] }], memberToken: 'm' }
  member = spawn(process.execPath, [
    ...[LATCHKEY, 'start', '--id', 'a', '--memory', '--listen', at, '--member', `a=wss://${at}`],
    ...['--tls-cert', await file('cert.pem', own.cert), '--tls-key', await file('key.pem', own.key)],
    ...['--tls-ca', await file('ca.pem', ours.cert), '--client-cert', 'required'],
    ...['--tokens', await file('tokens.json', JSON.stringify(tokens))],
  ])
  await until('it is ready', async () => (await ask('GET', '/readyz')) === 200)
})
afterAll(async () => {
  member.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

/** From the table of routes: a new one is asked at once. */
const ROUTES = ROUTE_EXAMPLES.map((row) => [row.method, row.path('k'), row.body?.('k')] as const)
/** Probes and the page need no certificate. */
const OPEN = new Set(['/livez', '/readyz', '/', '/page/console.css'])

test.each(ROUTES)('C40: %s %s with a certificate that has expired', async (method, path, body) => {
  expect(await ask(method, path, expired, body)).toBe(OPEN.has(path) ? 200 : 401)
  expect([401, undefined]).not.toContain(await ask(method, path, good, body))
})

test('C40: no store is connected with it, so that none of its calls begins', async () => {
  const url = `wss://${at}`
  const late = connect([url], {
    tls: { ca: ours.cert, cert: expired.cert, key: expired.key },
    timeout: '20s',
  })
  await expect(late).rejects.toMatchObject({ code: 'ERR_UNAUTHORIZED' })
  await expect(late).rejects.toThrow(/CERT_HAS_EXPIRED/)
  await using store = await connect([url], { tls: { ca: ours.cert, cert: good.cert, key: good.key } })
  await store.put('k', 'v', { timeout: '20s' })
})
