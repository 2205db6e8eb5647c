// Driver: owns the store of a command. This file connects with the options that all commands have, and closes
// the store at the end.

import { type Logger, silentLogger } from '@latchkey/base'
import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'
import { ConfigError } from '../sidecar/index.js'
import {
  duration,
  flag,
  type Line,
  type OptionTable,
  text,
  texts,
  UsageError,
} from './command-description-and-parser.js'
import { explain } from './exit-codes.js'
import { Interrupted, type CommandStore, type ConnectOptions, type Io } from './command-io-interface.js'

const DEFAULT_ENDPOINT = 'ws://127.0.0.1:7001'

export const STORE_OPTIONS: OptionTable = {
  endpoint: {
    type: 'string',
    multiple: true,
    value: 'URL',
    help: `the address of a member; default: LATCHKEY_ENDPOINT (separated by commas), or ${DEFAULT_ENDPOINT}`,
  },
  token: {
    type: 'string',
    value: 'TOKEN',
    help: 'the token of this client; LATCHKEY_TOKEN is safer, because other users cannot see it',
  },
  cluster: { type: 'string', value: 'NAME', help: 'the name of the cluster; default: LATCHKEY_CLUSTER' },
  'cluster-id': {
    type: 'string',
    value: 'ID',
    help: 'use only the cluster with this id (latchkey status shows the id); default: LATCHKEY_CLUSTER_ID',
  },
  ca: {
    type: 'string',
    value: 'FILE',
    help: 'the certificate authority to trust (PEM); default: LATCHKEY_CA',
  },
  cert: {
    type: 'string',
    value: 'FILE',
    help: 'the certificate of this client (PEM), if clients need one; default: LATCHKEY_CERT',
  },
  'cert-key': {
    type: 'string',
    value: 'FILE',
    help: 'the private key of the certificate (PEM); default: LATCHKEY_CERT_KEY',
  },
  timeout: { type: 'string', value: 'DURATION', help: 'fail after this time, 5s by default' },
}
export const JSON_OPTION: OptionTable = { json: { type: 'boolean', help: 'print JSON' } }

export interface Session {
  readonly store: CommandStore
  readonly json: boolean
  readonly call: { readonly timeout?: number | undefined; readonly signal: AbortSignal }
}

export async function withStore(
  line: Line,
  io: Io,
  run: (session: Session) => Promise<number>,
): Promise<number> {
  const timeout = duration(line, 'timeout')
  const store = await io.connect(endpoints(line, io), connectOptions(line, io))
  try {
    return await run({ store, json: flag(line, 'json'), call: { timeout, signal: io.interrupted } })
  } catch (error) {
    throw await reasonOf(error, store, io)
  } finally {
    await store.close()
  }
}

export const connectOptions = (line: Line, io: Io): ConnectOptions => ({
  token: text(line, 'token') ?? io.env.LATCHKEY_TOKEN,
  cluster: text(line, 'cluster') ?? io.env.LATCHKEY_CLUSTER,
  clusterId: (text(line, 'cluster-id') ?? io.env.LATCHKEY_CLUSTER_ID) || undefined,
  logger: warnings(io),
  timeout: duration(line, 'timeout'),
  signal: io.interrupted,
  tls: tlsOf(line, io),
})

/** Warnings go to standard error. Standard output is for results, which programs read. */
function warnings(io: Io): Logger {
  const say: Logger['warn'] = (message, fields) => {
    const reason = fields?.['reason']
    io.err(`latchkey: ${message}${typeof reason === 'string' ? `: ${reason}` : ''}\n`)
  }
  return { ...silentLogger, warn: say }
}

function tlsOf(line: Line, io: Io): ConnectOptions['tls'] {
  const read = (option: string, variable: string, what: string) => {
    const path = text(line, option) ?? io.env[variable]
    return path === undefined || path === '' ? undefined : fileText(what, path, io)
  }
  const ca = read('ca', 'LATCHKEY_CA', 'authority')
  const cert = read('cert', 'LATCHKEY_CERT', 'certificate')
  const key = read('cert-key', 'LATCHKEY_CERT_KEY', 'key')
  if ((cert === undefined) !== (key === undefined)) throw new ConfigError('--cert and --cert-key go together')
  return ca === undefined && cert === undefined ? undefined : { ca, cert, key }
}

function fileText(what: string, path: string, io: Io): string {
  try {
    return io.readFile(path)
  } catch (error) {
    throw new ConfigError(`the ${what} ${path} cannot be read: ${explain(error)}`, { cause: error })
  }
}

export function endpoints(line: Line, io: Io): string[] {
  const given = texts(line, 'endpoint')
  const named =
    given.length > 0 ? given : (io.env.LATCHKEY_ENDPOINT ?? '').split(',').map((part) => part.trim())
  const found = named.filter((url) => url !== '').map(socketUrl)
  return found.length > 0 ? found : [DEFAULT_ENDPOINT]
}

/** Accepts 'host:port', and the HTTP address of the same port. */
function socketUrl(url: string): string {
  const full = url.includes('://') ? url.replace(/^http/, 'ws') : `ws://${url}`
  if (/^wss?:/.test(full) && URL.canParse(full)) return full
  throw new UsageError(
    `--endpoint must be an address such as ${DEFAULT_ENDPOINT}; got ${JSON.stringify(url)}`,
  )
}

/**
 * An interruption by the user replaces the error. A timeout becomes ERR_NO_LEADER if the connected member
 * knows no leader.
 */
async function reasonOf(error: unknown, store: CommandStore, io: Io): Promise<unknown> {
  if (io.interrupted.reason instanceof Interrupted) return io.interrupted.reason
  if (!isLatchkeyError(error, 'ERR_TIMEOUT')) return error
  return (await hasLeader(store)) ? error : new LatchkeyError('ERR_NO_LEADER', undefined, { cause: error })
}

export function hasLeader(store: CommandStore): Promise<boolean> {
  return store.status({ timeout: '1s' }).then(
    ({ leader }) => leader !== undefined,
    () => false,
  )
}
