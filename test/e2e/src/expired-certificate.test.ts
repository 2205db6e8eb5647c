// Test: members and clients with TLS: a certificate that has expired, or that a stranger has signed, is
// refused.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@latchkey/client'
import { ask } from '@latchkey/test-chaos/ask'
import { authority, type Pair } from '@latchkey/test-chaos/certificates'
import { Cluster } from '@latchkey/test-chaos/cluster'
import { latchkey } from '@latchkey/test-chaos/command'
import { until } from '@latchkey/test-chaos/until'
import { afterAll, beforeAll, expect, test } from 'vitest'

const ours = authority('ours')
const yesterday = { from: new Date(Date.now() - 9e7), to: new Date(Date.now() - 8e7) }
let folder: string
let cluster: Cluster

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-tls-'))
  await writeFile(join(folder, 'ca.pem'), ours.cert)
  cluster = await Cluster.start({ ca: ours.cert, flags: await flagsOf('member', ours.issue('member')) })
})
afterAll(async () => {
  await cluster.destroy()
  await rm(folder, { recursive: true, force: true })
})

async function flagsOf(name: string, { cert, key }: Pair): Promise<string[]> {
  const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}-key.pem`)]
  await Promise.all([writeFile(certFile, cert), writeFile(keyFile, key)])
  return ['--tls-cert', certFile, '--tls-key', keyFile, '--tls-ca', join(folder, 'ca.pem')]
}

test('three members, a client and the command over TLS', async () => {
  const store = await connect(cluster.urls, { tls: { ca: ours.cert } })
  await store.put('secret', 'kept')
  const { code, out } = await latchkey(['get', 'secret', '--ca', join(folder, 'ca.pem')], cluster.urls).ended
  expect([code, out]).toEqual([0, 'kept'])
  await store.close()
})

test('a client does not talk to members whose authority it does not trust', async () => {
  const stranger = connect(cluster.urls, { tls: { ca: authority('theirs').cert }, timeout: '3s' })
  await expect(stranger).rejects.toMatchObject({ code: 'ERR_NO_LEADER' })
})

test('a member that comes back with an expired certificate is not served by the others, and says why', async () => {
  const late = cluster.get('c')
  expect(await late.stop()).toBe(0)
  late.start({ flags: await flagsOf('expired', ours.issue('member', yesterday)) })
  // It runs, but its own port convinces nobody, and no member lets it in.
  await until('the others say why', () =>
    ['a', 'b'].every((id) => cluster.get(id).output.includes('CERT_HAS_EXPIRED')),
  )
  await until('and so does the member itself', () => late.output.includes('another member refuses this one'))
  expect(await ask(`${late.http}/livez`, { ca: ours.cert })).toBeUndefined()
  const refusal = () =>
    connect([late.url], { tls: { ca: ours.cert }, timeout: '3s' }).catch((error: unknown) => error)
  await expect.poll(refusal).toMatchObject({
    code: 'ERR_NO_LEADER',
    cause: expect.objectContaining({ message: expect.stringMatching(/expired/i) }),
  })
  const store = await connect(cluster.urls, { tls: { ca: ours.cert } })
  await store.put('secret', 'still kept', { timeout: '30s' })
  await expect.poll(async () => (await cluster.get('a').status())?.members).toHaveLength(3)
  await store.close()
  await late.kill()
  late.start()
  await late.ready()
})
