// Door: converts the settings into the options of open() and of the sidecar. This file refuses each setting
// that open() would refuse, before the sidecar opens its port. Every refusal is a ConfigError.

import type { Logger } from '@latchkey/base'
import type { LogLevel } from '@latchkey/daemon'
import type { Auth } from '../member/identity-and-rights.js'
import {
  type AuthOptions,
  checkOptions,
  type Listen,
  type OpenOptions,
  parseListen,
} from '../open/options.js'
import type { TlsOptions } from '../open/tls-options.js'
import { memberTokens } from '../open/choose-member-proof.js'
import { DEFAULT_LISTEN, rowOf, variableOf } from './settings-table.js'
import { ConfigError, type ResolvedSettings } from './setting-values-by-precedence.js'

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const satisfies readonly LogLevel[]

export interface SidecarOptions {
  readonly open: OpenOptions
  readonly listen: Listen
  /**
   * True if the user gave no address. A member with an old directory then listens at its own address in the
   * Raft log.
   */
  readonly isWithoutAddress: boolean
  readonly origins: readonly string[]
  /** Allowed host names, besides the host names of the members. */
  readonly hosts: readonly string[]
  readonly maxConnections: number
  readonly grace: number
  readonly logLevel: LogLevel
  /** The files of certificates and tokens, which are read again after a change. */
  readonly files: readonly string[]
  readonly warnings: readonly string[]
  /** The tokens, which the log must not contain. */
  readonly secrets: readonly string[]
}

/** `read` returns the text of a file, such as a certificate. */
export function sidecarOptions(settings: ResolvedSettings, read: (path: string) => string): SidecarOptions {
  try {
    return checked(settings, read)
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw new ConfigError((error as Error).message, { cause: error })
  }
}

function checked(settings: ResolvedSettings, read: (path: string) => string): SidecarOptions {
  const value = <T>(name: keyof ResolvedSettings) => settings[name].value as T
  const members = value<Record<string, string> | undefined>('member')
  const listen = value<string | undefined>('listen') ?? (members === undefined ? DEFAULT_LISTEN : undefined)
  const open: OpenOptions = {
    id: value('id'),
    dir: value('dir'),
    memory: value('memory'),
    members,
    listen,
    cluster: value('cluster'),
    clusterId: value('clusterId'),
    join: value('join'),
    electionTimeout: value('electionTimeout'),
    heartbeat: value('heartbeat'),
    snapshot: { everyEntries: value('everyEntries'), everyBytes: value('everyBytes') },
    maxInFlightBytes: value('maxInFlightBytes'),
    drift: value('drift'),
    sessionLife: value('sessionLife'),
    tls: tlsOf(
      value('tlsCert'),
      value('tlsKey'),
      value('tlsCa'),
      value('tlsMemberName'),
      value('clientCert'),
      read,
    ),
    auth: authOf(value('token'), value('tokens'), value('memberToken')),
    insecure: value('insecure'),
  }
  for (const name of ['id', 'dir'] as const) {
    if (open[name] === undefined && !(name === 'dir' && open.memory)) throw new ConfigError(missing(name))
  }
  const known = checkOptions(open)
  return {
    open,
    listen: known.listen ?? parseListen(DEFAULT_LISTEN),
    isWithoutAddress: members === undefined && value('listen') === undefined,
    origins: (value<string[] | undefined>('allowOrigin') ?? []).map(originOf),
    hosts: (value<string[] | undefined>('allowHost') ?? []).map(hostOf),
    maxConnections: positive(value('maxConnections'), 'max-connections'),
    grace: value('grace'),
    logLevel: levelOf(value('logLevel')),
    secrets: secretsOf(known.auth, open.tls),
    warnings: warningsOf(settings),
    files: (['tlsCert', 'tlsKey', 'tlsCa', 'tokens'] as const).flatMap(
      (name) => value<string | undefined>(name) ?? [],
    ),
  }
}

function tlsOf(
  cert: string | undefined,
  key: string | undefined,
  ca: string | undefined,
  memberName: string | undefined,
  clientCert: TlsOptions['clientCert'],
  read: (path: string) => string,
): TlsOptions | undefined {
  if ([cert, key, ca, memberName, clientCert].every((one) => one === undefined)) return undefined
  if (cert === undefined || key === undefined) throw new ConfigError('tls-cert and tls-key go together')
  const pem = (path: string) => {
    try {
      return read(path)
    } catch (error) {
      throw new ConfigError(`${path} cannot be read: ${(error as Error).message}`, { cause: error })
    }
  }
  return {
    cert: pem(cert),
    key: pem(key),
    ca: ca === undefined ? undefined : pem(ca),
    memberName,
    clientCert,
    files: { cert, ca },
  }
}

function authOf(
  tokens: AuthOptions['tokens'],
  file: string | undefined,
  memberToken: readonly string[] | undefined,
): OpenOptions['auth'] {
  if (tokens === undefined && file === undefined && memberToken === undefined) return undefined
  if (tokens === undefined && file === undefined)
    throw new ConfigError('member-token needs at least one token')
  return { tokens, file, memberToken }
}

function warningsOf(settings: ResolvedSettings): string[] {
  const shown = (['token', 'memberToken'] as const).filter((name) => settings[name].source.startsWith('flag'))
  return shown.map((name) => {
    const { flag } = rowOf(name)
    return `every user of this machine sees --${flag} in the list of processes: use --tokens FILE, or ${variableOf(flag)} in the environment`
  })
}

const missing = (name: string) =>
  `${name} is missing: give --${name}, LATCHKEY_${name.toUpperCase()}, or "${name}" in the configuration file`

/**
 * The text must have the form in which browsers send an origin. Another form would never equal the origin of
 * a request.
 */
function originOf(text: string): string {
  if (URL.canParse(text) && new URL(text).origin === text) return text
  throw new ConfigError(
    `allow-origin must be an origin such as 'https://app.example' or 'http://localhost:3000'; got ${JSON.stringify(text)}`,
  )
}

function hostOf(text: string): string {
  if (/^[A-Za-z0-9]([A-Za-z0-9._-]{0,252})$/.test(text)) return text.toLowerCase()
  throw new ConfigError(
    `allow-host must be a name such as 'latchkey.example', without a port; got ${JSON.stringify(text)}`,
  )
}

function positive(value: unknown, name: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw new ConfigError(`${name} must be a positive whole number`)
}

function levelOf(value: unknown): LogLevel {
  const level = LOG_LEVELS.find((known) => known === value)
  if (level === undefined) throw new ConfigError(`log-level must be one of ${LOG_LEVELS.join(', ')}`)
  return level
}

function secretsOf(auth: Auth | undefined, tls: TlsOptions | undefined): string[] {
  const tokens = (auth?.tokens ?? []).flatMap(({ token }) => token ?? [])
  const key = tls === undefined ? [] : [String(tls.key)]
  return [...tokens, ...memberTokens(auth), ...key]
}

export const withLogger = (options: SidecarOptions, logger: Logger): OpenOptions => ({
  ...options.open,
  logger,
})
