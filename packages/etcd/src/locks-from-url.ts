// Driver: opens locks on the etcd servers of a URL, with a new etcd client.

import { refusedByServer, withDriver } from '@latchkey/lock'
import { type EtcdLocks, type EtcdOptions, makeLocks } from './etcd-locks.js'
import type { EtcdClient } from './etcd-types.js'

type Either = 'bytes' | 'string'

/**
 * Called by `locks('etcd://host:port,host:port')` of @latchkey/locks. `close` of the locks also closes the
 * etcd client.
 */
export async function locksFromUrl(
  url: string,
  options: Omit<EtcdOptions<Either>, 'client'> = {},
): Promise<EtcdLocks<Either>> {
  const client = await clientTo(parsed(url))
  const made = makeLocks<Either>({ ...options, client }, () => client.close())
  try {
    await made.locks.query('')
  } catch (cause) {
    await made.close()
    throw refusedByServer('etcd did not answer. Check the addresses, the name and the password.', cause)
  }
  return made
}

interface Address {
  readonly hosts: string[]
  readonly auth?: { readonly username: string; readonly password: string }
}

const ADDRESS = /^etcd:\/\/(?:([^:@/]*):([^@/]*)@)?([^@/]+)\/?$/

function parsed(url: string): Address {
  const [, username, password, hosts] = ADDRESS.exec(url) ?? []
  const list = (hosts ?? '').split(',').map((host) => `http://${host.includes(':') ? host : `${host}:2379`}`)
  if (hosts === undefined || !list.every((host) => URL.canParse(host))) throw new TypeError(wrong(url))
  if (username === undefined || password === undefined) return { hosts: list }
  const auth = { username: decodeURIComponent(username), password: decodeURIComponent(password) }
  return { hosts: list, auth }
}

const wrong = (url: string) =>
  `an address of etcd is etcd://host:port,host:port, or etcd://name:password@host:port; got ${JSON.stringify(url.replace(/\/\/[^/]*@/, '//***@'))}. With TLS, make the client yourself and call etcdLocks.`

const clientTo = (address: Address): Promise<EtcdClient> =>
  withDriver('an etcd:// address', 'etcd3', async () => {
    const { Etcd3 } = (await import('etcd3')) as unknown as { Etcd3: new (options: object) => EtcdClient }
    return new Etcd3(address)
  })
