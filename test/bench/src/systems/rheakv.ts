// Driver: three RheaKV servers over RocksDB, and a load process with RheaKV's own client: Java, which Maven fetches
// and compiles before the first run.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePorts } from '@latchkey/test-chaos/ports'
import type { MeasureOptions, Samples } from '../measure.js'
import { Orders } from './orders.js'
import { findProgram, Servers } from './servers.js'
import type { LoadProcess, System, SystemClient } from './system.js'

/** A pom.xml, and the Java beside it; the former says where the latter is built. */
const SOURCE = fileURLToPath(new URL('../../rheakv', import.meta.url))
/** Not in the repository, as everything that is built. */
const CACHE = fileURLToPath(new URL('../rheakv', import.meta.url))
const BUILD_LIMIT_MILLIS = 4 * 60_000

const SETTING =
  'three servers with RocksDB and default settings (a synced Raft log and ReadOnlySafe reads); the client is its own ' +
  'Java client with a thread for each caller'

export async function rheakv(): Promise<System | string> {
  const [java, javac, maven] = ['java', 'javac', 'mvn'].map((name) => findProgram(name))
  if (java === undefined || javac === undefined || maven === undefined)
    return 'needs a JDK and Maven, for example by: apt-get install default-jdk-headless maven'
  const classPath = await classPathBuiltBy(maven)
  const servers = await Servers.open('rheakv')
  try {
    const ports = await freePorts(3)
    const all = ports.map((port) => `127.0.0.1:${port}`).join(',')
    const start = (port: number) =>
      servers.start(java, ['-cp', classPath, 'Server', `${port}`, join(servers.folder, `${port}`), all])
    for (const port of ports) await mkdir(join(servers.folder, `${port}`))
    const running = new Map(ports.map((port) => [port, start(port)]))
    const orders = new Orders(servers.start(java, ['-cp', classPath, 'Load', all], { stdin: 'pipe' }))
    await orders.give('open', 'first')
    await servers.until(() => orders.give('put', 'first', 'ready', 'AA=='))
    let clients = 0
    return {
      name: 'RheaKV',
      setting: SETTING,
      pids: () => [...running.values()].map((child) => child.pid as number),
      connect: async () => {
        const client = `client-${++clients}`
        await orders.give('open', client)
        return rheakvClient(orders, client)
      },
      async leader() {
        const port = Number(await orders.give('leader', 'first'))
        return {
          kill: () => void running.get(port)?.kill('SIGKILL'),
          async startAgain() {
            running.set(port, start(port))
            await servers.until(() => listens(port))
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

/** Built anew when its source has changed, or when a library is no longer there. */
async function classPathBuiltBy(maven: string): Promise<string> {
  const java = join(SOURCE, 'src/main/java')
  const files = [join(SOURCE, 'pom.xml'), ...(await readdir(java)).toSorted().map((name) => join(java, name))]
  const source = createHash('sha256')
  for (const file of files) source.update(await readFile(file))
  const hash = source.digest('hex')
  const path = join(CACHE, 'class-path')
  const [builtFrom, known] = (await readFile(path, 'utf8').catch(() => '')).split('\n')
  if (builtFrom === hash && known?.split(delimiter).every((place) => existsSync(place))) return known
  await mkdir(CACHE, { recursive: true })
  const words = ['-q', '-B', '-f', join(SOURCE, 'pom.xml'), 'clean', 'compile', 'dependency:build-classpath']
  await promisify(execFile)(maven, words, { timeout: BUILD_LIMIT_MILLIS }).catch(
    ({ stdout, message }: Error & { stdout?: string }) => {
      throw new Error(`Maven could not fetch or compile it:\n${stdout || message}`)
    },
  )
  const libraries = (await readFile(join(CACHE, 'libraries'), 'utf8')).trim()
  const classPath = [join(CACHE, 'target/classes'), libraries].join(delimiter)
  await writeFile(path, `${hash}\n${classPath}`)
  return classPath
}

function listens(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve()
    }).once('error', reject)
  })
}

/** What the load process measures it tells in microseconds. */
interface Told {
  readonly calls: number
  readonly errors: number
  readonly firstError?: string
  readonly micros: readonly number[]
  readonly ends: readonly number[]
}

function rheakvClient(orders: Orders, client: string): SystemClient {
  const give = (order: string, ...words: readonly (string | number)[]) =>
    orders.give(order, client, ...words.map(String))
  const samples = async (order: string, ...words: readonly (string | number)[]): Promise<Samples> => {
    const { micros, ends, ...counts } = (await give(order, ...words)) as Told
    const millis = (list: readonly number[]) => list.map((one) => one / 1000)
    return { ...counts, millis: millis(micros), ends: millis(ends) }
  }
  const spans = ({ warmUpSeconds, seconds }: Omit<MeasureOptions, 'callers'>) =>
    [warmUpSeconds, seconds].map((one) => Math.round(one * 1000))
  const loadProcess: LoadProcess = {
    closed: (load, options) => samples('closed', load, options.callers, ...spans(options)),
    paced: (perSecond, count) => samples('paced', perSecond, count),
    passOn: (how, waiters, options) => samples('passOn', how, waiters, ...spans(options)),
  }
  return {
    loadProcess,
    async take(key) {
      if ((await give('take', key)) !== true) return undefined
      return async () => (await give('release', key)) === true
    },
    put: async (key, value) => (await give('put', key, Buffer.from(value).toString('base64'))) === true,
    async get(key) {
      const found = (await give('get', key)) as string | null
      return found === null ? undefined : Buffer.from(found, 'base64')
    },
    close: async () => void (await give('close')),
  }
}
