// Driver: three etcd members with their defaults, and etcd3. Waiting goes through etcd's own lock service.

import { freePorts } from '@latchkey/test-chaos/ports'
import type { Etcd3 } from 'etcd3'
import { lockService, type LockService } from './etcd-lock-service.js'
import { findProgram, Servers } from './servers.js'
import type { System, SystemClient } from './system.js'

export async function etcd(): Promise<System | string> {
  const program = findProgram('etcd')
  if (program === undefined) return 'etcd is not installed'
  const module = await import('etcd3').catch(() => undefined)
  if (module === undefined) return 'etcd3 is not installed'
  const servers = await Servers.open('etcd')
  try {
    const ports = await freePorts(6)
    const urls = ports.map((port) => `http://127.0.0.1:${port}`)
    const clientUrls = urls.slice(0, 3)
    const all = [0, 1, 2].map((i) => `m${i}=${urls[i + 3]}`).join(',')
    const start = (i: number) =>
      servers.start(program, flags(i, urls[i] as string, urls[i + 3] as string, all))
    const running = [0, 1, 2].map(start)
    const open = () => new module.Etcd3({ hosts: clientUrls })
    await servers.until(() => probe(open()))
    return {
      name: 'etcd',
      setting:
        'three members with default settings; the client is etcd3, which connects to all three members',
      pids: () => servers.pids,
      connect: async () => etcdClient(open(), await lockService(ports.slice(0, 3))),
      async leader() {
        const one = (url: string) => new module.Etcd3({ hosts: url })
        const i = await leaderIndex(clientUrls.map(one))
        return {
          kill: () => void running[i]?.kill('SIGKILL'),
          async startAgain() {
            running[i] = start(i)
            await servers.until(() => probe(one(clientUrls[i] as string)))
          },
        }
      },
      stop: () => servers.stop(),
    }
  } catch (error) {
    await servers.stop()
    throw error
  }
}

const flags = (i: number, clients: string, peers: string, all: string): string[] => [
  ...['--name', `m${i}`, '--data-dir', `m${i}`, '--initial-cluster', all],
  ...['--listen-client-urls', clients, '--advertise-client-urls', clients],
  ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers],
]

async function probe(client: Etcd3): Promise<void> {
  try {
    await client.put('ready').value('yes')
  } finally {
    client.close()
  }
}

/** Of these members, each with a client of its own. */
async function leaderIndex(clients: readonly Etcd3[]): Promise<number> {
  const known = await Promise.all(clients.map((client) => client.maintenance.status()))
  for (const client of clients) client.close()
  return known.findIndex(({ leader, header }) => leader === header.member_id)
}

function etcdClient(client: Etcd3, service: LockService): SystemClient {
  // One lease for all that this client holds, kept alive by etcd3.
  const lease = client.lease(60)
  const leaseId = lease.grant()
  /** A waiter is told from another by its lease. */
  const waiters = new Map<number, Promise<string>>()
  const leaseOf = (waiter: number) => {
    const known = waiters.get(waiter) ?? client.lease(60).grant()
    waiters.set(waiter, known)
    return known
  }
  return {
    async take(key) {
      const claim = client
        .put(key)
        .value('held')
        .lease(await leaseId)
      const { succeeded } = await client.if(key, 'Create', '==', 0).then(claim).commit()
      if (!succeeded) return undefined
      return async () => (await client.delete().key(key)).deleted === '1'
    },
    async put(key, value) {
      await client.put(key).value(Buffer.from(value.buffer, value.byteOffset, value.length))
      return true
    },
    get: async (key) => (await client.get(key).buffer()) ?? undefined,
    async passOn(key, waiter, served) {
      const held = await service.lock(key, await leaseOf(waiter))
      served()
      await service.unlock(held)
    },
    // etcd has no semaphore.
    async passLeadership(name, waiter, served) {
      const leader = await service.campaign(name, await leaseOf(waiter))
      served()
      await service.resign(leader)
    },
    async close() {
      service.close()
      client.close()
    },
  }
}
