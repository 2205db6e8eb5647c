// Door: checks the options of open(). A wrong option is a TypeError that names the option. The member checks
// all options before it opens a file or a port.

import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { type Logger, loggerOption, sameUrl } from '@latchkey/base'
import {
  type As,
  CAPS,
  type Duration,
  millis,
  type OnUndecodable,
  show,
  toAs,
  toOnUndecodable,
  unknownName,
} from '@latchkey/protocol'
import type { Auth, AuthOptions } from '../member/identity-and-rights.js'
import { checkAuth, checkClientCertificates } from './auth-options.js'
import { refuseUnprovenMembers } from './choose-member-proof.js'
import { checkTls, type TlsOptions } from './tls-options.js'

export type { AuthOptions, Right, TokenEntry } from '../member/identity-and-rights.js'

/** The options of `open`. `id` is required, and so is either `dir` or `memory`. */
export interface OpenOptions<S extends As = 'bytes'> {
  /** The member's id, which is unique in the cluster. */
  id: string
  /** The directory of all files of this member. Do not use `dir` together with `memory: true`. */
  dir?: string | undefined
  /** With `true`, the member keeps everything in memory, for tests. */
  memory?: boolean | undefined
  /**
   * The addresses of all voters of a new cluster by their ids, including this member. The first start creates
   * the cluster with these voters. At a later start, the log has the addresses. If an address of this option
   * is new to the log, the member asks there which cluster runs at that address. Without this option, the
   * cluster has one member and no port.
   */
  members?: Readonly<Record<string, string>> | undefined
  /**
   * The address at which the member listens, as host:port. The default is the host and port of members[id].
   */
  listen?: string | undefined
  /** The name of the cluster. Members and clients that use another name are refused. Default: 'latchkey'. */
  cluster?: string | undefined
  /**
   * The id of the cluster, as in `status()`. The member does not start if its directory belongs to another
   * cluster (ERR_WRONG_CLUSTER). Default: any cluster.
   */
  clusterId?: string | undefined
  /** True for a new member without data, which waits until you add it to a cluster. */
  join?: boolean | undefined
  /**
   * In ms. If the followers hear nothing from the leader for one to two election timeouts, they elect another
   * leader. Default: 1000.
   */
  electionTimeout?: number | undefined
  /**
   * In ms, the time between two heartbeats of the leader. At most half of the election timeout. Default: 100,
   * or a fifth of the election timeout if that is shorter.
   */
  heartbeat?: number | undefined
  /** The member compacts its log after this many entries, or after this many bytes. */
  snapshot?: { everyEntries?: number | undefined; everyBytes?: number | undefined } | undefined
  /**
   * How many bytes of one connection's large commands may wait at the leader before the leader writes the
   * commands into its log. A single command may always wait, even if it is larger. Beyond the limit, calls
   * fail with ERR_BUSY. Default: 16 MiB.
   */
  maxInFlightBytes?: number | undefined
  /**
   * How wrong the rate of a clock may be: with 0.005, a clock may gain or lose 5 ms in a second. Default:
   * 0.005. All members and clients must use the same value.
   */
  drift?: number | undefined
  /**
   * How long the cluster keeps a session after the client's last message. The session keeps the client's
   * places in queues and the answers to the client's commands. Default: '30s'.
   */
  sessionLife?: Duration | undefined
  /**
   * With this option, members and clients connect with wss://. With `ca`, members must also show
   * certificates.
   */
  tls?: TlsOptions | undefined
  /** Tokens and certificates of clients, with their rights. */
  auth?: AuthOptions | undefined
  /** Allows the member to listen at other addresses than loopback without TLS and tokens. */
  insecure?: boolean | undefined
  /** The encoding of keys and values for calls without an option `as`. Default: 'bytes'. */
  as?: S | undefined
  /**
   * What a read does with a stored value that it cannot decode, if the call has no option `onUndecodable` of
   * its own. By default, the read fails with ERR_UNDECODABLE.
   */
  onUndecodable?: OnUndecodable | undefined
  /** The logger. By default, warnings and errors go to `console`. With `false`, the store logs nothing. */
  logger?: Logger | false | undefined
  /**
   * Whether the store and the member trace requests with OpenTelemetry (docs/tracing.md). By default, the
   * store and the member trace if an SDK is registered. With true, a missing @opentelemetry/api is a
   * TypeError.
   */
  tracing?: boolean | undefined
  /** Aborts `open`. */
  signal?: AbortSignal | undefined
}

export interface Listen {
  readonly host: string
  readonly port: number
}

export interface Settings {
  readonly id: string
  readonly dir: string | undefined
  readonly members: Readonly<Record<string, string>> | undefined
  readonly listen: Listen | undefined
  readonly cluster: string
  readonly clusterId: string | undefined
  readonly join: boolean
  readonly electionTimeout: number
  readonly heartbeat: number
  readonly snapshot: { readonly everyEntries: number; readonly everyBytes: number }
  readonly maxInFlightBytes: number
  readonly drift: number
  readonly sessionLife: number
  readonly tls: TlsOptions | undefined
  /** Includes the tokens of the tokens file (`auth.file`). */
  readonly auth: Auth | undefined
  /** The option `auth` as the user gave it. A reload reads the tokens file again, if the option names one. */
  readonly givenAuth: AuthOptions | undefined
  readonly as: As
  readonly onUndecodable: OnUndecodable
  readonly logger: Logger
  /** Undefined means that the member traces if an OpenTelemetry SDK is registered. */
  readonly tracing: boolean | undefined
  readonly signal: AbortSignal | undefined
}

const NAMES: Record<keyof OpenOptions<As>, true> = {
  id: true,
  dir: true,
  memory: true,
  members: true,
  listen: true,
  cluster: true,
  clusterId: true,
  join: true,
  electionTimeout: true,
  heartbeat: true,
  snapshot: true,
  maxInFlightBytes: true,
  drift: true,
  sessionLife: true,
  tls: true,
  auth: true,
  insecure: true,
  as: true,
  onUndecodable: true,
  logger: true,
  tracing: true,
  signal: true,
}

const NAME_SHAPE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** The default of `heartbeat`, in ms. */
export const heartbeatFor = (electionTimeout: number): number => Math.min(100, Math.ceil(electionTimeout / 5))

export function checkOptions(options: OpenOptions<As>): Settings {
  if (typeof options !== 'object' || options === null) throw new TypeError('open: options must be an object')
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(NAMES, name)) throw unknownName('option', name, 'open', Object.keys(NAMES))
    refuseNull(options[name as keyof OpenOptions<As>], name)
  }
  const id = checkName(options.id, 'id')
  const members = checkMembers(options.members, id)
  const electionTimeout = wholeNumber(options.electionTimeout ?? 1000, 'electionTimeout', 20, 600_000)
  const heartbeat = wholeNumber(options.heartbeat ?? heartbeatFor(electionTimeout), 'heartbeat', 1, 60_000)
  if (heartbeat * 2 > electionTimeout)
    throw new TypeError('heartbeat must be at most half of electionTimeout')
  const settings: Settings = {
    id,
    dir: checkDir(options),
    members,
    listen: checkListen(options, members?.[id]),
    cluster: checkName(options.cluster ?? 'latchkey', 'cluster'),
    clusterId: checkClusterId(options.clusterId),
    join: checkBoolean(options.join, 'join'),
    electionTimeout,
    heartbeat,
    snapshot: checkSnapshot(options.snapshot),
    maxInFlightBytes: wholeNumber(
      options.maxInFlightBytes ?? 2 * CAPS.entryBytes,
      'maxInFlightBytes',
      1,
      2 ** 40,
    ),
    drift: checkDrift(options.drift ?? 0.005),
    sessionLife: checkSessionLife(options.sessionLife ?? '30s'),
    tls: checkTls(options.tls),
    auth: checkAuth(options.auth),
    givenAuth: options.auth,
    as: toAs(options.as, 'bytes'),
    onUndecodable: toOnUndecodable(options.onUndecodable, 'error'),
    logger: loggerOption(options.logger),
    tracing: options.tracing === undefined ? undefined : checkBoolean(options.tracing, 'tracing'),
    signal: checkSignal(options.signal),
  }
  if (settings.join && members === undefined)
    throw new TypeError(
      'join needs the option members, with this member and the voters of the cluster that it joins',
    )
  checkClientCertificates(settings)
  refuseUnprovenMembers(settings, settings.join || Object.keys(members ?? {}).length > 1)
  refuseOpenDoors(settings, checkBoolean(options.insecure, 'insecure'))
  return settings
}

function refuseNull(value: unknown, name: string): void {
  if (value === null) throw new TypeError(`${name} must not be null: leave it out for its default`)
}

function checkName(value: unknown, name: string): string {
  if (typeof value === 'string' && NAME_SHAPE.test(value)) return value
  throw new TypeError(
    `${name} must be 1 to 64 letters, digits, dots, dashes or underscores, beginning with a letter or digit`,
  )
}

function checkClusterId(value: unknown): string | undefined {
  if (value === undefined || (typeof value === 'string' && /^[!-~]{1,128}$/.test(value))) return value
  throw new TypeError('clusterId must be the id of a cluster, as status().clusterId tells it')
}

function checkDir({ dir, memory }: OpenOptions<As>): string | undefined {
  if (checkBoolean(memory, 'memory')) {
    if (dir !== undefined) throw new TypeError('dir and memory exclude each other')
    return undefined
  }
  if (typeof dir === 'string' && dir !== '' && !dir.includes('\0')) return resolve(dir)
  throw new TypeError("dir must be the path of this member's own folder (or use memory: true)")
}

function checkMembers(members: unknown, id: string): Readonly<Record<string, string>> | undefined {
  if (members === undefined) return undefined
  if (typeof members !== 'object' || members === null || Array.isArray(members)) {
    throw new TypeError("members must be an object such as { a: 'ws://127.0.0.1:7001' }")
  }
  for (const [name, url] of Object.entries(members)) {
    checkName(name, `members: ${JSON.stringify(name)}`)
    checkUrl(url, `members.${name}`)
    const other = Object.entries(members).find(
      ([one, at]) => one !== name && sameUrl(String(at), url as string),
    )
    if (other !== undefined)
      throw new TypeError(`members.${name} and members.${other[0]} have the same address ${show(url)}`)
  }
  if (!Object.hasOwn(members, id))
    throw new TypeError(`members must list this member too: ${JSON.stringify(id)} is missing`)
  return { ...(members as Record<string, string>) }
}

function checkUrl(url: unknown, name: string): URL {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (parsed && (parsed.protocol === 'ws:' || parsed.protocol === 'wss:') && parsed.hostname !== '')
    return parsed
  throw new TypeError(`${name} must be an address such as 'ws://127.0.0.1:7001'`)
}

function checkListen(options: OpenOptions<As>, own: string | undefined): Settings['listen'] {
  if (options.listen !== undefined) return parseListen(options.listen)
  return own === undefined ? undefined : hostAndPort(own)
}

/**
 * Throws a TypeError if other machines could reach the port without TLS and tokens, unless `insecure` is
 * true.
 */
export function listenAt(url: string, { tls, auth, insecure }: OpenOptions<As>): Listen {
  const listen = hostAndPort(url)
  refuseOpenDoors({ listen, tls, auth }, insecure === true)
  return listen
}

function hostAndPort(own: string): Listen {
  const url = new URL(own)
  const port = url.port === '' ? (url.protocol === 'wss:' ? 443 : 80) : Number(url.port)
  return { host: unbracket(url.hostname), port }
}

export function parseListen(value: unknown): Listen {
  const match =
    typeof value === 'string' ? /^(\[[0-9a-fA-F:.]+\]|[^:[\]/\s]+):([0-9]{1,5})$/.exec(value) : null
  const port = Number(match?.[2])
  if (match?.[1] === undefined || port > 65_535)
    throw new TypeError("listen must be 'host:port', such as '127.0.0.1:7001'")
  return { host: unbracket(match[1]), port }
}

const unbracket = (host: string) => host.replace(/^\[|\]$/g, '')

function checkSnapshot(snapshot: OpenOptions<As>['snapshot']): Settings['snapshot'] {
  if (
    snapshot !== undefined &&
    (typeof snapshot !== 'object' || snapshot === null || Array.isArray(snapshot))
  )
    throw new TypeError('snapshot must be an object such as { everyEntries: 50000, everyBytes: 16777216 }')
  for (const [name, value] of Object.entries(snapshot ?? {})) {
    if (name !== 'everyEntries' && name !== 'everyBytes')
      throw unknownName('option', name, 'snapshot', ['everyEntries', 'everyBytes'])
    refuseNull(value, `snapshot.${name}`)
  }
  return {
    everyEntries: wholeNumber(snapshot?.everyEntries ?? 50_000, 'snapshot.everyEntries', 1, 10_000_000),
    everyBytes: wholeNumber(snapshot?.everyBytes ?? 16 * 1024 * 1024, 'snapshot.everyBytes', 1, 2 ** 40),
  }
}

function wholeNumber(value: unknown, name: string, least: number, most: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most)
    return value as number
  throw new TypeError(`${name} must be a whole number from ${least} to ${most}`)
}

function checkDrift(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= 0.1) return value
  throw new TypeError('drift must be a number from 0 to 0.1')
}

function checkSessionLife(value: Duration): number {
  const life = millis(value, 'sessionLife')
  if (life >= 1000 && life <= CAPS.maxSessionLife) return life
  throw new TypeError("sessionLife must be from '1s' to '24h'")
}

function checkBoolean(value: unknown, name: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false
  throw new TypeError(`${name} must be true or false`)
}

function checkSignal(signal: unknown): AbortSignal | undefined {
  if (signal === undefined || signal instanceof AbortSignal) return signal
  throw new TypeError('signal must be an AbortSignal')
}

export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}

function refuseOpenDoors(
  { listen, tls, auth }: Pick<Settings, 'listen' | 'tls'> & { readonly auth: unknown },
  insecure: boolean,
): void {
  if (listen === undefined || isLoopback(listen.host) || insecure) return
  if (tls && auth) return
  throw new TypeError(
    `listen: ${listen.host} is beyond loopback, so other machines may reach it: set tls and auth.tokens, or allow access without them with insecure: true (--insecure)`,
  )
}
