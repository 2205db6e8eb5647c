// Rule: the table of all settings of `latchkey start`. A row names the setting's flag and its place in the
// configuration file, and says how the setting's text is parsed. The environment variable follows from the
// flag: --tls-cert is LATCHKEY_TLS_CERT.

import { CAPS } from '@latchkey/protocol'

type Kind = 'text' | 'number' | 'millis' | 'yes-no' | 'list' | 'members' | 'tokens'

export interface SettingRow {
  readonly flag: string
  /** The path in the JSON of the configuration file. 'tls.cert' is the field `cert` of the object `tls`. */
  readonly place: string
  readonly kind: Kind
  /** How the help names the value of the flag, for example NAME. */
  readonly value?: string
  readonly help: string
  readonly fallback?: unknown
  readonly secret?: true
}

export const DEFAULT_LISTEN = '127.0.0.1:7001'

// long: one table, with one row for each setting
export const SETTINGS = {
  id: { flag: 'id', place: 'id', kind: 'text', value: 'NAME', help: "the member's id, which never changes" },
  dir: {
    flag: 'dir',
    place: 'dir',
    kind: 'text',
    value: 'PATH',
    help: 'the directory for all files of the member',
  },
  memory: {
    flag: 'memory',
    place: 'memory',
    kind: 'yes-no',
    help: 'keep all data in memory, for tests',
    fallback: false,
  },
  listen: {
    flag: 'listen',
    place: 'listen',
    kind: 'text',
    value: 'HOST:PORT',
    help: 'the address to listen on; default: the address of this member in --member, or 127.0.0.1:7001',
  },
  member: {
    flag: 'member',
    place: 'members',
    kind: 'members',
    value: 'ID=URL',
    help: 'the id and address of a voter, once for each voter of the cluster; used at the first start only',
  },
  cluster: {
    flag: 'cluster',
    place: 'cluster',
    kind: 'text',
    value: 'NAME',
    help: 'the name of the cluster',
    fallback: 'latchkey',
  },
  clusterId: {
    flag: 'cluster-id',
    place: 'clusterId',
    kind: 'text',
    value: 'ID',
    help: 'start only if the cluster has this id (latchkey status shows the id)',
  },
  join: {
    flag: 'join',
    place: 'join',
    kind: 'yes-no',
    help: 'start a new, empty member, which waits until it is added to a cluster',
    fallback: false,
  },
  electionTimeout: {
    flag: 'election-timeout',
    place: 'electionTimeout',
    kind: 'millis',
    value: 'MS',
    help: 'a member starts an election if its leader is silent for this time',
    fallback: 1000,
  },
  heartbeat: {
    flag: 'heartbeat',
    place: 'heartbeat',
    kind: 'millis',
    value: 'MS',
    help: 'the interval between heartbeats of a leader; default 100, or less with a short election timeout',
  },
  everyEntries: {
    flag: 'snapshot-every-entries',
    place: 'snapshot.everyEntries',
    kind: 'number',
    value: 'N',
    help: 'compact the log after this many entries',
    fallback: 50_000,
  },
  everyBytes: {
    flag: 'snapshot-every-bytes',
    place: 'snapshot.everyBytes',
    kind: 'number',
    value: 'N',
    help: 'compact the log after this many bytes',
    fallback: 16 * 1024 * 1024,
  },
  maxInFlightBytes: {
    flag: 'max-in-flight-bytes',
    place: 'maxInFlightBytes',
    kind: 'number',
    value: 'N',
    help: 'bytes of commands that may wait for the log; beyond this limit, calls fail with ERR_BUSY',
    fallback: 2 * CAPS.entryBytes,
  },
  drift: {
    flag: 'drift',
    place: 'drift',
    kind: 'number',
    value: 'RATE',
    help: 'the largest assumed error of the rate of a clock',
    fallback: 0.005,
  },
  sessionLife: {
    flag: 'session-life',
    place: 'sessionLife',
    kind: 'millis',
    value: 'DURATION',
    help: 'how long a session lives after the last message of its client',
    fallback: 30_000,
  },
  tlsCert: {
    flag: 'tls-cert',
    place: 'tls.cert',
    kind: 'text',
    value: 'FILE',
    help: 'the certificate of the member (PEM)',
  },
  tlsKey: {
    flag: 'tls-key',
    place: 'tls.key',
    kind: 'text',
    value: 'FILE',
    help: 'the private key of the certificate (PEM)',
  },
  tlsCa: {
    flag: 'tls-ca',
    place: 'tls.ca',
    kind: 'text',
    value: 'FILE',
    help: 'the authority that signs the certificates of members (PEM)',
  },
  tlsMemberName: {
    flag: 'tls-member-name',
    place: 'tls.memberName',
    kind: 'text',
    value: 'NAME',
    help: 'a name that the certificate of a member must contain; {id} stands for the id of the member',
  },
  clientCert: {
    flag: 'client-cert',
    place: 'tls.clientCert',
    kind: 'text',
    value: 'required',
    help: 'clients must show a certificate of --tls-ca, and its name must be in --tokens',
  },
  token: {
    flag: 'token',
    place: 'auth.tokens',
    kind: 'tokens',
    value: '[RIGHTS:]TOKEN',
    help: 'a token that clients may use; RIGHTS are for example read+write',
    secret: true,
  },
  tokens: {
    flag: 'tokens',
    place: 'auth.file',
    kind: 'text',
    value: 'FILE',
    help: 'a JSON file with tokens and their names, rights and prefixes; other users must not be able to read it',
  },
  memberToken: {
    flag: 'member-token',
    place: 'auth.memberToken',
    kind: 'list',
    value: 'TOKEN',
    help: 'the secret that members prove to each other; the first one is proved, and all are accepted',
    secret: true,
  },
  insecure: {
    flag: 'insecure',
    place: 'insecure',
    kind: 'yes-no',
    help: 'allow the member to listen on other addresses than loopback without TLS and tokens',
    fallback: false,
  },
  allowHost: {
    flag: 'allow-host',
    place: 'allowHost',
    kind: 'list',
    value: 'NAME',
    help: 'accept HTTP requests to this host name too; the name is checked if the member needs no tokens',
  },
  allowOrigin: {
    flag: 'allow-origin',
    place: 'allowOrigin',
    kind: 'list',
    value: 'ORIGIN',
    help: 'accept HTTP requests of web pages with this origin',
  },
  maxConnections: {
    flag: 'max-connections',
    place: 'maxConnections',
    kind: 'number',
    value: 'N',
    help: 'the limit for all open connections; docs/operations.md says how they are divided',
    fallback: 10_000,
  },
  grace: {
    flag: 'grace',
    place: 'grace',
    kind: 'millis',
    value: 'DURATION',
    help: 'how long the member waits for open calls when it stops',
    fallback: 10_000,
  },
  logLevel: {
    flag: 'log-level',
    place: 'logLevel',
    kind: 'text',
    value: 'LEVEL',
    help: 'the lowest level of lines in the log: debug, info, warn, error or silent',
    fallback: 'info',
  },
} as const satisfies Record<string, SettingRow>

export type SettingName = keyof typeof SETTINGS

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[]

export const rowOf = (name: SettingName): SettingRow => SETTINGS[name]

export const variableOf = (flag: string): string => `LATCHKEY_${flag.toUpperCase().replaceAll('-', '_')}`
