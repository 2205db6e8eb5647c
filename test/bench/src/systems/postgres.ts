// Driver: one PostgreSQL server with its defaults, and pg's pool. A lock is a row.

import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chown, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePorts } from '@latchkey/test-chaos/ports'
import type { Pool } from 'pg'
import { findProgram, Servers, type User } from './servers.js'
import type { System, SystemClient } from './system.js'

const PLACES = '/usr/lib/postgresql'
const CONNECTIONS = 64

export async function postgres(): Promise<System | string> {
  const versions = await readdir(PLACES).catch(() => [])
  const places = versions.map((version) => join(PLACES, version, 'bin'))
  const program = findProgram('postgres', places)
  const initdb = findProgram('initdb', places)
  if (program === undefined || initdb === undefined) return 'PostgreSQL is not installed'
  const module = await import('pg').catch(() => undefined)
  if (module === undefined) return 'pg is not installed'
  const servers = await Servers.open('postgres')
  try {
    const [port] = (await freePorts(1)) as [number]
    const data = join(servers.folder, 'data')
    const user = await otherUser(servers)
    await servers.run(initdb, ['-D', data, '-U', 'bench', '-A', 'trust', '-E', 'UTF8'], user)
    servers.start(program, ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', servers.folder], user)
    const open = () => {
      const pool = new module.default.Pool({
        ...{ host: '127.0.0.1', port, user: 'bench', database: 'postgres', max: CONNECTIONS },
      })
      // A server that is stopped while a client lives is no news.
      pool.on('error', () => {})
      return pool
    }
    await servers.until(() => makeTables(open()))
    return {
      name: 'PostgreSQL',
      setting: `one server with default settings (fsync and synchronous commit); the client is pg with a pool of ${CONNECTIONS} connections`,
      pids: () => servers.pids,
      connect: async () => postgresClient(open()),
      stop: () => servers.stop(),
    }
  } catch (error) {
    await servers.stop()
    throw error
  }
}

/** The server refuses to run as root: then it runs as the user that its package made. */
async function otherUser(servers: Servers): Promise<User> {
  if (process.getuid?.() !== 0) return {}
  const idOf = async (what: string) => Number((await promisify(execFile)('id', [what, 'postgres'])).stdout)
  const user = { uid: await idOf('-u'), gid: await idOf('-g') }
  await chown(servers.folder, user.uid, user.gid)
  return user
}

async function makeTables(pool: Pool): Promise<void> {
  try {
    await pool.query('create table if not exists locks (key text primary key, owner text not null)')
    await pool.query('create table if not exists kv (key text primary key, value bytea not null)')
  } finally {
    await pool.end()
  }
}

const TAKE = {
  name: 'take',
  text: 'insert into locks (key, owner) values ($1, $2) on conflict (key) do nothing',
}
const RELEASE = { name: 'release', text: 'delete from locks where key = $1 and owner = $2' }
const PUT = {
  name: 'put',
  text: 'insert into kv (key, value) values ($1, $2) on conflict (key) do update set value = excluded.value',
}
const GET = { name: 'get', text: 'select value from kv where key = $1' }

function postgresClient(pool: Pool): SystemClient {
  const owner = randomUUID()
  return {
    async take(key) {
      const { rowCount } = await pool.query({ ...TAKE, values: [key, owner] })
      if (rowCount !== 1) return undefined
      return async () => (await pool.query({ ...RELEASE, values: [key, owner] })).rowCount === 1
    },
    put: async (key, value) => (await pool.query({ ...PUT, values: [key, value] })).rowCount === 1,
    get: async (key) => {
      const { rows } = await pool.query<{ value: Buffer }>({ ...GET, values: [key] })
      return rows[0]?.value
    },
    close: () => pool.end(),
  }
}
