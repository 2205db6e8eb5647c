// Driver: three ZooKeeper members with their defaults, and node-zookeeper-client. A lock is an ephemeral
// node; who waits in a line does so by Curator's recipes.

import { access, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePorts } from '@latchkey/test-chaos/ports'
import type { Client } from 'node-zookeeper-client'
import { CuratorRecipes } from './curator-recipes.js'
import { findProgram, Servers } from './servers.js'
import type { System, SystemClient } from './system.js'

/**
 * Where distributions put its jars; what it needs stands in the jar's own list. ZOOKEEPER_CLASSPATH names them where
 * they stand elsewhere.
 */
const JARS = ['/usr/share/java/zookeeper.jar', '/usr/share/zookeeper/zookeeper.jar']

export async function zookeeper(): Promise<System | string> {
  const java = findProgram('java')
  const jar = process.env.ZOOKEEPER_CLASSPATH ?? (await firstThere(JARS))
  if (java === undefined || jar === undefined) return 'ZooKeeper is not installed'
  const module = await import('node-zookeeper-client').catch(() => undefined)
  if (module === undefined) return 'node-zookeeper-client is not installed'
  const { default: client } = module
  const servers = await Servers.open('zookeeper')
  try {
    const ports = await freePorts(9)
    for (const i of [0, 1, 2]) {
      const config = await layOut(servers.folder, i, ports)
      const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain'
      servers.start(java, ['-Xmx256m', '-Dzookeeper.admin.enableServer=false', '-cp', jar, main, config])
    }
    const hosts = ports.slice(0, 3).map((port) => `127.0.0.1:${port}`)
    const open = (at: readonly string[]) =>
      client.createClient(at.join(','), { sessionTimeout: 30_000, retries: 1, spinDelay: 100 })
    for (const host of hosts) await servers.until(() => probe(open([host])), 60_000)
    return {
      name: 'ZooKeeper',
      setting: 'three members with forceSync; the client is node-zookeeper-client with one connection',
      pids: () => servers.pids,
      connect: async () => zookeeperClient(await connected(open(hosts)), client.CreateMode),
      stop: () => servers.stop(),
    }
  } catch (error) {
    await servers.stop()
    throw error
  }
}

async function layOut(folder: string, i: number, ports: readonly number[]): Promise<string> {
  const data = join(folder, `m${i}`)
  await mkdir(data)
  await writeFile(join(data, 'myid'), String(i + 1))
  const peers = [0, 1, 2].map((n) => `server.${n + 1}=127.0.0.1:${ports[n + 3]}:${ports[n + 6]}`)
  const config = join(folder, `m${i}.cfg`)
  const lines = ['tickTime=2000', 'initLimit=10', 'syncLimit=5', `dataDir=${data}`, 'maxClientCnxns=0']
  await writeFile(
    config,
    [...lines, `clientPort=${ports[i]}`, 'clientPortAddress=127.0.0.1', ...peers].join('\n'),
  )
  return config
}

async function firstThere(paths: readonly string[]): Promise<string | undefined> {
  for (const path of paths) {
    if (
      await access(path).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return undefined
}

function connected(client: Client, timeout = 2_000): Promise<Client> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      client.close()
      reject(new Error('no connection'))
    }, timeout)
    client.once('connected', () => {
      clearTimeout(timer)
      resolve(client)
    })
    client.connect()
  })
}

async function probe(client: Client): Promise<void> {
  await connected(client)
  client.close()
}

const pathOf = (key: string) => `/${key.replaceAll('/', '-')}`

type Modes = { readonly EPHEMERAL: number; readonly EPHEMERAL_SEQUENTIAL: number }

function zookeeperClient(client: Client, modes: Modes): SystemClient {
  const recipes = new CuratorRecipes(client, modes)
  const inLine = async (folder: string, served: () => void) => {
    const path = await recipes.enterLine(folder)
    served()
    await recipes.remove(path)
  }
  const create = (path: string, data: Buffer, mode?: number) =>
    new Promise<boolean>((resolve) => {
      const done = (error: unknown) => resolve(!error)
      if (mode === undefined) client.create(path, data, done)
      else client.create(path, data, mode, done)
    })
  const remove = (path: string) =>
    new Promise<boolean>((resolve) => {
      client.remove(path, (error) => resolve(!error))
    })
  const set = (path: string, data: Buffer) =>
    new Promise<boolean>((resolve) => {
      client.setData(path, data, (error) => resolve(!error))
    })
  const nobody = Buffer.from('held')
  return {
    async take(key) {
      const path = pathOf(key)
      return (await create(path, nobody, modes.EPHEMERAL)) ? () => remove(path) : undefined
    },
    async put(key, value) {
      const path = pathOf(key)
      const data = Buffer.from(value)
      return (await set(path, data)) || (await create(path, data)) || set(path, data)
    },
    passOn: (key, _waiter, served) => inLine(`/locks${pathOf(key)}`, served),
    passLeadership: (name, _waiter, served) => inLine(`/leaders${pathOf(name)}`, served),
    async passPermit(name, _waiter, served) {
      const path = await recipes.acquirePermit(`/permits${pathOf(name)}`, 1)
      served()
      await recipes.remove(path)
    },
    // No get: what a ZooKeeper member answers may be older than the last write.
    close: async () => client.close(),
  }
}
