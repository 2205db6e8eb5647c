// Door: checks the arguments of connect(). A wrong argument is a TypeError that names the option. The error
// is thrown before any member is dialled.

import { type Logger, loggerOption } from '@latchkey/base'
import { DEFAULT_DRIFT } from '@latchkey/lock'
import {
  type As,
  CAPS,
  type Duration,
  knownNames,
  millis,
  type OnUndecodable,
  refuseUnknown,
  show,
  toAs,
  toOnUndecodable,
  toRecord,
  toSignal,
  unknownName,
} from '@latchkey/protocol'
import { tracingOption } from './tracing/tracing.js'

/** Certificates as PEM, for wss:// addresses. */
export interface ClientTls {
  /** The certificate authorities to trust, instead of the authorities that Node trusts by default. */
  ca?: string | Uint8Array | undefined
  /** The certificate that this client shows if the cluster asks clients for one. */
  cert?: string | Uint8Array | undefined
  key?: string | Uint8Array | undefined
}

/** Every option may be left out. */
export interface ConnectOptions<S extends As = 'bytes'> {
  /** The bearer token. The store has the rights of this token. */
  token?: string | undefined
  /** The cluster's name; default 'latchkey'. */
  cluster?: string | undefined
  /**
   * The cluster's id, as `status()` returns it. A member of another cluster is not used (ERR_WRONG_CLUSTER).
   * The default is the cluster id of the given members.
   */
  clusterId?: string | undefined
  /** The timeout of the first handshake. Default 5 s. */
  timeout?: Duration | undefined
  tls?: ClientTls | undefined
  /** The encoding of keys and values for calls without the option `as`. Default 'bytes'. */
  as?: S | undefined
  /**
   * What a read does with a stored value that it cannot decode. By default the read fails with
   * ERR_UNDECODABLE.
   */
  onUndecodable?: OnUndecodable | undefined
  /** How long this store's places in lock queues survive while this process sends nothing. Default '30s'. */
  sessionLife?: Duration | undefined
  /**
   * The largest assumed error of the rate of a clock, as a fraction. The default 0.005 is half a percent. Use
   * the same value as the members.
   */
  drift?: number | undefined
  /** Receives warnings and errors. The default is `console`. With false nothing is logged. */
  logger?: Logger | false | undefined
  /**
   * Whether to make spans of OpenTelemetry and events of node:diagnostics_channel (docs/tracing.md). By
   * default the store makes spans if an SDK is registered, and events if a program subscribes. With true, a
   * missing @opentelemetry/api is a TypeError. With false, the store makes no spans and no events.
   */
  tracing?: boolean | undefined
  /** Aborts connect(). */
  signal?: AbortSignal | undefined
}

export interface ConnectSettings {
  readonly seeds: readonly string[]
  readonly token: string | undefined
  readonly cluster: string
  readonly clusterId: string | undefined
  readonly timeout: number
  readonly tls: ClientTls | undefined
  readonly as: As
  readonly onUndecodable: OnUndecodable
  readonly sessionLife: number
  readonly drift: number
  readonly logger: Logger
  readonly tracing: boolean
  readonly signal: AbortSignal | undefined
}

/** The options of `store.reload` of a remote store. They have the same meaning as in connect(). */
export interface ClientReload {
  token?: string | undefined
  tls?: ClientTls | undefined
}

export interface Credentials {
  token: string | undefined
  tls: ClientTls | undefined
}

const RELOAD_OPTIONS = knownNames('token', 'tls')

export function checkReload(options: unknown, before: Credentials): Credentials {
  const given = toRecord(options, 'options') as ClientReload
  refuseUnknown(given, RELOAD_OPTIONS, 'option', 'reload')
  return {
    token: checkWord(given.token, 'token') ?? before.token,
    tls: given.tls === undefined ? before.tls : checkTls(given.tls),
  }
}

const NAMES: Record<keyof ConnectOptions, true> = {
  token: true,
  cluster: true,
  clusterId: true,
  timeout: true,
  tls: true,
  as: true,
  onUndecodable: true,
  sessionLife: true,
  drift: true,
  logger: true,
  tracing: true,
  signal: true,
}

export function checkConnect(urls: unknown, options: unknown): ConnectSettings {
  const given = (options === undefined ? {} : toRecord(options, 'options')) as ConnectOptions
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(NAMES, name)) throw unknownName('option', name, 'connect', Object.keys(NAMES))
    if (value === null) throw new TypeError(`${name} must not be null: leave it out for its default`)
  }
  return {
    seeds: checkUrls(urls),
    token: checkWord(given.token, 'token'),
    cluster: checkWord(given.cluster, 'cluster') ?? 'latchkey',
    clusterId: checkWord(given.clusterId, 'clusterId'),
    timeout: millis(given.timeout ?? 5_000, 'timeout'),
    tls: given.tls === undefined ? undefined : checkTls(given.tls),
    as: toAs(given.as, 'bytes'),
    onUndecodable: toOnUndecodable(given.onUndecodable, 'error'),
    sessionLife: checkLife(given.sessionLife ?? 30_000),
    drift: checkDrift(given.drift ?? DEFAULT_DRIFT),
    logger: loggerOption(given.logger),
    tracing: tracingOption(given.tracing),
    signal: toSignal(given.signal),
  }
}

function checkUrls(urls: unknown): readonly string[] {
  const list: unknown[] = typeof urls === 'string' ? [urls] : Array.isArray(urls) ? urls : []
  if (list.length === 0)
    throw new TypeError(`urls must be an array of addresses such as 'ws://127.0.0.1:7001'; got ${show(urls)}`)
  return list.map((url, at) => checkUrl(url, `urls[${at}]`))
}

function checkUrl(url: unknown, name: string): string {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (parsed && (parsed.protocol === 'ws:' || parsed.protocol === 'wss:') && parsed.hostname !== '')
    return url as string
  throw new TypeError(`${name} must be an address such as 'ws://127.0.0.1:7001'; got ${show(url)}`)
}

function checkWord(value: unknown, name: string): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value
  throw new TypeError(`${name} must be a string that is not empty; got ${show(value)}`)
}

const TLS_OPTIONS = knownNames('ca', 'cert', 'key')

function checkTls(tls: unknown): ClientTls {
  const given = toRecord(tls, 'tls')
  refuseUnknown(given, TLS_OPTIONS, 'option', 'tls')
  const { ca, cert, key } = given
  for (const [name, part] of Object.entries({ ca, cert, key }))
    if (part !== undefined && typeof part !== 'string' && !(part instanceof Uint8Array))
      throw new TypeError(`tls.${name} must be a string or a Uint8Array; got ${show(part)}`)
  if ((cert === undefined) !== (key === undefined)) throw new TypeError('tls.cert and tls.key go together')
  return { ca, cert, key } as ClientTls
}

function checkLife(value: Duration): number {
  const life = millis(value, 'sessionLife')
  if (life >= 1_000 && life <= CAPS.maxSessionLife) return life
  throw new TypeError(`sessionLife must be from '1s' to '24h'; got ${life} ms`)
}

function checkDrift(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 0.1) return value
  throw new TypeError(`drift must be a number from 0 to 0.1; got ${show(value)}`)
}
