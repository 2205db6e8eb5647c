// Test: certificates over time: an authority is replaced on each member while a client works, and an expired
// certificate of a client is refused.

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
      await client.put('k', id, { timeout: '30s' })
    }
  await stores.get('c')?.close()
  const c = await start('c', next.cert, next.issue('c'))
  stores.set('c', c)
  await c.ready({ timeout: '30s' })
  expect(await c.get('k', { as: 'string' })).toBe('c')
  await client.put('k', 'over', { timeout: '30s' })
})

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
})

const DAY = 86_400_000
const days = (from: number, to: number) => ({
  from: new Date(Date.now() + from * DAY),
  to: new Date(Date.now() + to * DAY),
})

async function opened(pair: { cert: string; key: string }, ca: string) {
  const warnings: string[] = []
  const members = await addresses(['a'])
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
  const auth = { tokens: ['t'], memberToken: 'm' }
  const store = await open({ id: 'a', memory: true, members, tls: { ...pair, ca }, auth, ...quick, logger })
  onTestFinished(() => store.close())
  return { store, warnings, url: members.a as string }
}

test('C46: a reload with a certificate that is over, or not good yet, is refused with its date, and the old one stays', async () => {
  const ours = authority('ours')
  const { store, url, warnings } = await opened(ours.issue('a'), ours.cert)
  for (const [validity, why] of [
    [days(-9, -1), /tls\.cert \(\/run\/a\.pem\): the certificate "a" has expired on 20/],
    [days(1, 9), /tls\.cert \(\/run\/a\.pem\): the certificate "a" is not valid before 20/],
  ] as const) {
    const files = { cert: '/run/a.pem' }
    const refused = store.reload({ tls: { ...ours.issue('a', validity), ca: ours.cert, files } })
    await expect(refused).rejects.toMatchObject({
      code: 'ERR_UNAUTHORIZED',
      message: expect.stringMatching(why),
    })
  }
  const client = await connect([url], { tls: { ca: ours.cert }, token: 't' })
  onTestFinished(() => client.close())
  await client.put('k', 'v', { timeout: '20s' })
  await store.reload({ tls: { ...ours.issue('a', days(-9, 7)), ca: ours.cert } })
  expect(warnings.at(-1)).toMatch(/the certificate "a" expires on 20.*, in 6 days/)
})

test('C46: a member that starts with an expired certificate says so, and a token can still be taken back', async () => {
  const ours = authority('ours')
  const pair = ours.issue('a', days(-9, -1))
  const { store, warnings } = await opened(pair, ours.cert)
  expect(warnings).toContainEqual(expect.stringMatching(/"a" has expired on 20.*refuse it/))
  await store.reload({ tls: { ...pair, ca: ours.cert }, auth: { tokens: ['other'], memberToken: 'm' } })
  await store.reload({ tls: { ...ours.issue('a'), ca: ours.cert } })
})

test('C49: who connects to members with expired, unknown or other certificates hears that of each address', async () => {
  const ours = authority('ours')
  const late = await opened(ours.issue('a', days(-9, -1)), ours.cert)
  const strange = await opened(authority('theirs').issue('a'), ours.cert)
  const [closed = 0] = await freePorts(1)
  const urls = [late.url, strange.url, `wss://127.0.0.1:${closed}`]
  const refusal = () =>
    connect(urls, { tls: { ca: ours.cert }, token: 't', timeout: '3s' }).catch((one: unknown) => one as Error)
  let error = new Error()
  // On a machine that stands still, the time is over before all addresses have been tried.
  for (let tried = 0; tried < urls.length; tried = error.message.split('cannot be reached').length - 1)
    error = (await refusal()) as Error
  expect(error).toMatchObject({ code: 'ERR_NO_LEADER' })
  expect(error.message).toContain(
    `${late.url} cannot be reached: certificate has expired. Replace the certificate`,
  )
  expect(error.message).toMatch(
    new RegExp(
      `${strange.url} cannot be reached: [^.]*(self.signed|unable|signature)[^.]*. Give the authority`,
    ),
  )
  expect(error.message).toContain(`wss://127.0.0.1:${closed} cannot be reached: connect ECONNREFUSED`)
})

test('C49: a store whose members get expired certificates later says so in its calls and in ready()', async () => {
  const ours = authority('ours')
  const first = await opened(ours.issue('a'), ours.cert)
  const client = await connect([first.url], { tls: { ca: ours.cert }, token: 't', timeout: '20s' })
  onTestFinished(() => client.close())
  await first.store.close()
  const second = await open({
    id: 'a',
    memory: true,
    members: { a: first.url },
    tls: { ...ours.issue('a', days(-9, -1)), ca: ours.cert },
    ...quick,
  })
  onTestFinished(() => second.close())
  const expired = `${first.url} cannot be reached: certificate has expired`
  const said = (call: Promise<unknown>) => call.then(String, ({ code, message }) => `${code} ${message}`)
  // On a machine that stands still, the time of a call may be over before the address was tried.
  const put = () => said(client.put('k', 'v', { timeout: '3s' }))
  await expect.poll(put).toMatch(/^ERR_NO_LEADER /)
  await expect.poll(put).toContain(expired)
  await expect.poll(() => said(client.ready({ timeout: '1s' }))).toContain(expired)
  await expect.poll(() => said(client.get('k', { timeout: '1s' }))).toContain(expired)
})
