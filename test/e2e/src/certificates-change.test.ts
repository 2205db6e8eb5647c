// Test: certificates over time: an authority is replaced member by member while a client works, and an expired certificate of a client
// opens nothing.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@latchkey/client'
import { silentLogger } from '@latchkey/base'
import { authority } from '@latchkey/test-chaos/certificates'
import { freePorts } from '@latchkey/test-chaos/ports'
import { type EmbeddedStore, open } from 'latchkey'
import { expect, onTestFinished, test } from 'vitest'

const quick = { electionTimeout: 600, heartbeat: 50, logger: silentLogger }
const IDS = ['a', 'b', 'c'] as const

async function addresses(ids: readonly string[]): Promise<Record<string, string>> {
  const ports = await freePorts(ids.length)
  return Object.fromEntries(ids.map((id, at) => [id, `wss://127.0.0.1:${ports[at]}`]))
}

test('C41: an authority is replaced while a client works, and who starts with the new one alone is met by the others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-rotate-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [old, next] = [authority('old'), authority('next')]
  const members = await addresses(IDS)
  const start = (id: string, ca: string, pair: { cert: string; key: string }) =>
    open({ id, dir: join(folder, id), members, tls: { ca, cert: pair.cert, key: pair.key }, ...quick })
  const stores = new Map<string, EmbeddedStore>()
  onTestFinished(async () => void (await Promise.all([...stores.values()].map((store) => store.close()))))
  await Promise.all(IDS.map(async (id) => stores.set(id, await start(id, old.cert, old.issue(id)))))
  const client = await connect(Object.values(members), { tls: { ca: old.cert + next.cert }, timeout: '30s' })
  onTestFinished(() => client.close())
  await client.put('k', '0', { timeout: '30s' })
  // First everybody trusts both, then everybody shows the new one.
  for (const issuer of [old, next])
    for (const id of IDS) {
      const { cert, key } = issuer.issue(id)
      await stores.get(id)?.reload({ tls: { ca: old.cert + next.cert, cert, key } })
      await client.put('k', id)
    }
  await stores.get('c')?.close()
  const c = await start('c', next.cert, next.issue('c'))
  stores.set('c', c)
  await c.ready({ timeout: '30s' })
  expect(await c.get('k', { as: 'string' })).toBe('c')
  await client.put('k', 'over')
}, 90_000)

test('C40: an expired certificate of a client opens nothing, and the refusal says that it is expired', async () => {
  const ours = authority('ours')
  const members = await addresses(['a'])
  const { cert, key } = ours.issue('member')
  const store = await open({
    id: 'a',
    memory: true,
    members,
    tls: { ca: ours.cert, cert, key, clientCert: 'required' },
    auth: { tokens: [{ cert: 'billing', rights: ['read', 'write'] }], memberToken: 'm' },
    ...quick,
  })
  onTestFinished(() => store.close())
  const urls = Object.values(members)
  const show = (pair: { cert: string; key: string }) =>
    connect(urls, { tls: { ca: ours.cert, cert: pair.cert, key: pair.key }, timeout: '20s' })
  const good = await show(ours.issue('billing'))
  onTestFinished(() => good.close())
  await good.put('k', 'v', { timeout: '20s' })
  const yesterday = { from: new Date(Date.now() - 9e7), to: new Date(Date.now() - 8e7) }
  const late = show(ours.issue('billing', yesterday))
  await expect(late).rejects.toMatchObject({ code: 'ERR_UNAUTHORIZED' })
  await expect(late).rejects.toThrow(/CERT_HAS_EXPIRED/)
  await expect(show(ours.issue('other'))).rejects.toThrow(/no entry of auth.tokens has the cert "other"/)
}, 60_000)
