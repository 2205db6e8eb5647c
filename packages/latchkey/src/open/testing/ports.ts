// Test: addresses on this machine that nobody listens at just now.

import { createServer, type AddressInfo } from 'node:net'

export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  await Promise.all(servers.map((one) => new Promise<void>((done) => one.listen(0, '127.0.0.1', done))))
  const ports = servers.map((one) => (one.address() as AddressInfo).port)
  await Promise.all(servers.map((one) => new Promise((done) => one.close(done))))
  return ports
}

export async function addresses<Id extends string>(ids: readonly Id[]): Promise<Record<Id, string>> {
  const ports = await freePorts(ids.length)
  return Object.fromEntries(ids.map((id, i) => [id, `ws://127.0.0.1:${ports[i]}`])) as Record<Id, string>
}
