// Test: etcdLocks and etcd:// addresses give clear errors for wrong arguments and missing servers.

import { expect, test } from 'vitest'
import { toLockError } from './outcome-of-etcd-error.js'
import { etcdLocks, locksFromUrl } from './index.js'
import { clientTo } from './testing/servers.js'

const nowhere = () => clientTo(['http://127.0.0.1:1'])

test('a TypeError says what is wrong', async () => {
  const client = nowhere()
  const make = (options: object) => () => etcdLocks(options as never)
  expect(make({ client, prefx: 'a/' })).toThrow(/prefx/)
  expect(make({ client: {} })).toThrow(/client must be an Etcd3/)
  expect(make({ client, prefix: '' })).toThrow(/prefix must be a text/)
  expect(make({ client: client.namespace('app/') })).toThrow(/namespace/)
  const engine = etcdLocks({ client })
  const hold = { key: 'k', token: 1 }
  await expect(engine.guard({ ...hold, token: 0.5 })).rejects.toThrow(/token must be a safe integer/)
  await expect(engine.guard(hold, {} as never)).rejects.toThrow(/guard takes operations of etcd3/)
  await engine.close()
  client.close()
})

test.each(['etcd://', 'etcd://a b', 'etcd://me:secret@', 'etcd://host/database'])(
  'the address %s is refused, without its password',
  async (url) => {
    const error = (await locksFromUrl(url).catch((reason: unknown) => reason)) as Error
    expect(error).toBeInstanceOf(TypeError)
    expect(error.message).toMatch(/etcd:\/\/host:port/)
    expect(error.message).not.toMatch(/secret/)
  },
)

test('servers that are not there: the wait ends with ERR_NO_LEADER, and nothing was applied', async () => {
  const client = nowhere()
  await using engine = etcdLocks({ client })
  await expect(engine.locks.acquire('k', { wait: '3s' })).rejects.toMatchObject({
    code: 'ERR_NO_LEADER',
    outcome: 'not-applied',
  })
  client.close()
})

test.each([
  ['Tried to call a KV method on etcd3, but the client was already closed', 'Error', 'ERR_FORBIDDEN'],
  ['etcdserver: mvcc: database space exceeded', 'GRPCResourceExhastedError', 'ERR_FORBIDDEN'],
  ['etcdserver: too many requests', 'GRPCResourceExhastedError', 'ERR_BUSY'],
  ['etcdserver: permission denied', 'EtcdPermissionDeniedError', 'ERR_FORBIDDEN'],
  ['14 UNAVAILABLE: No connection established', 'GRPCUnavailableError', 'ERR_OUTCOME_UNKNOWN'],
  ['etcdserver: request timed out', 'GRPCUnknownError', 'ERR_OUTCOME_UNKNOWN'],
])('%s is told as %s', (message, name, code) => {
  const error = new ({ [name]: class extends Error {} }[name] as ErrorConstructor)(message)
  expect(toLockError(error).code).toBe(code)
})
