// Rule: the table of all settings of `latchkey start`. Each row has the setting's flag, its place in the
// configuration file, and how its text is parsed. The name of the environment variable follows from the flag:
// the variable of --tls-cert is LATCHKEY_TLS_CERT.

import { CAPS } from '@latchkey/protocol'

export type Kind = 'text' | 'number' | 'millis' | 'yes-no' | 'list' | 'members' | 'tokens'

export interface SettingRow {
  readonly flag: string
  /** The path of the setting in the configuration file, for example `tls.cert`. A dot separates nested objects. */
  readonly place: string
  readonly kind: Kind
  /** The text after the flag in the help. */
  readonly value?: string
  readonly help: string
  /** The value that is used and shown if no source gives a value. */
  readonly fallback?: unknown
  readonly secret?: true
}

export const DEFAULT_LISTEN = '127.0.0.1:7001'

// long: one table, with one row for each setting
export const SETTINGS = {
  id: { flag: 'id', place: 'id', kind: 'text', value: 'NAME', help: "this member's name" },
  dir: { flag: 'dir', place: 'dir', kind: 'text', value: 'PATH', help: 'everything it keeps on disk' },
  memory: {
    flag: 'memory',
    place: 'memory',
    kind: 'yes-no',
    help: 'keep nothing on disk, for tests',
    fallback: false,
  },
  listen: {
    flag: 'listen',
    place: 'listen',
    kind: 'text',
    value: 'HOST:PORT',
    help: 'default: the address of --member ID, or 127.0.0.1:7001',
  },
  member: {
    flag: 'member',
    place: 'members',
    kind: 'members',
    value: 'ID=URL',
    help: 'once for each voter, itself included; read at the first boot only',
  },
  cluster: {
    flag: 'cluster',
    place: 'cluster',
    kind: 'text',
    value: 'NAME',
    help: "the cluster's name",
    fallback: 'latchkey',
  },
  clusterId: {
    flag: 'cluster-id',
    place: 'clusterId',
    kind: 'text',
    value: 'ID',
    help: 'belong to the cluster with this id (as status tells it), or do not start',
  },
  join: {
    flag: 'join',
    place: 'join',
    kind: 'yes-no',
    help: 'a new, empty member that waits to be added',
    fallback: false,
  },
  electionTimeout: {
    flag: 'election-timeout',
    place: 'electionTimeout',
    kind: 'millis',
    value: 'MS',
    help: 'silence after which a leader is held for gone',
    fallback: 1000,
  },
  heartbeat: {
    flag: 'heartbeat',
    place: 'heartbeat',
    kind: 'millis',
    value: 'MS',
    help: 'how often a leader is heard; default 100, less with a short election timeout',
  },
  everyEntries: {
    flag: 'snapshot-every-entries',
    place: 'snapshot.everyEntries',
    kind: 'number',
    value: 'N',
    help: 'compact the log after so many entries',
    fallback: 50_000,
  },
  everyBytes: {
    flag: 'snapshot-every-bytes',
    place: 'snapshot.everyBytes',
    kind: 'number',
    value: 'N',
    help: 'or after so many bytes',
    fallback: 16 * 1024 * 1024,
  },
  maxInFlightBytes: {
    flag: 'max-in-flight-bytes',
    place: 'maxInFlightBytes',
    kind: 'number',
    value: 'N',
    help: 'uncommitted bytes beyond which calls are refused as busy',
    fallback: 2 * CAPS.entryBytes,
  },
  drift: {
    flag: 'drift',
    place: 'drift',
    kind: 'number',
    value: 'RATE',
    help: 'how much the rates of two clocks may differ',
    fallback: 0.005,
  },
  sessionLife: {
    flag: 'session-life',
    place: 'sessionLife',
    kind: 'millis',
    value: 'DURATION',
    help: 'how long a silent session lives',
    fallback: 30_000,
  },
  tlsCert: { flag: 'tls-cert', place: 'tls.cert', kind: 'text', value: 'FILE', help: 'certificate (PEM)' },
  tlsKey: { flag: 'tls-key', place: 'tls.key', kind: 'text', value: 'FILE', help: 'its private key (PEM)' },
  tlsCa: {
    flag: 'tls-ca',
    place: 'tls.ca',
    kind: 'text',
    value: 'FILE',
    help: "the authority of the members' certificates (PEM)",
  },
  tlsMemberName: {
    flag: 'tls-member-name',
    place: 'tls.memberName',
    kind: 'text',
    value: 'NAME',
    help: "what a member's certificate must name, with {id} for its id",
  },
  clientCert: {
    flag: 'client-cert',
    place: 'tls.clientCert',
    kind: 'text',
    value: 'required',
    help: 'clients must show a certificate of --tls-ca, whose name is an entry of --tokens',
  },
  token: {
    flag: 'token',
    place: 'auth.tokens',
    kind: 'tokens',
    value: '[RIGHTS:]TOKEN',
    help: 'what callers must show; several let one be replaced; RIGHTS such as read+write',
    secret: true,
  },
  tokens: {
    flag: 'tokens',
    place: 'auth.file',
    kind: 'text',
    value: 'FILE',
    help: 'a file of tokens with their names, rights and prefixes (JSON, closed to other users)',
  },
  memberToken: {
    flag: 'member-token',
    place: 'auth.memberToken',
    kind: 'list',
    value: 'TOKEN',
    help: 'what members prove to each other; the first is proved, each is accepted',
    secret: true,
  },
  insecure: {
    flag: 'insecure',
    place: 'insecure',
    kind: 'yes-no',
    help: 'allow listening beyond loopback without TLS and tokens',
    fallback: false,
  },
  allowHost: {
    flag: 'allow-host',
    place: 'allowHost',
    kind: 'list',
    value: 'NAME',
    help: 'answer HTTP under this name too; asked for on loopback, and where no tokens are',
  },
  allowOrigin: {
    flag: 'allow-origin',
    place: 'allowOrigin',
    kind: 'list',
    value: 'ORIGIN',
    help: 'let pages of this origin call over HTTP',
  },
  maxConnections: {
    flag: 'max-connections',
    place: 'maxConnections',
    kind: 'number',
    value: 'N',
    help: 'open connections of all kinds: docs/operations.md says who has how many',
    fallback: 10_000,
  },
  grace: {
    flag: 'grace',
    place: 'grace',
    kind: 'millis',
    value: 'DURATION',
    help: 'how long a stop waits for calls in flight',
    fallback: 10_000,
  },
  logLevel: {
    flag: 'log-level',
    place: 'logLevel',
    kind: 'text',
    value: 'LEVEL',
    help: 'debug, info, warn, error or silent',
    fallback: 'info',
  },
} as const satisfies Record<string, SettingRow>

export type SettingName = keyof typeof SETTINGS

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[]

export const rowOf = (name: SettingName): SettingRow => SETTINGS[name]

export const variableOf = (flag: string): string => `LATCHKEY_${flag.toUpperCase().replaceAll('-', '_')}`
