// Door: who is there? One frame each way, of this form for ever, so that any two builds understand at least a refusal.
//
// Laws
//   - nothing is told of this cluster to one who has not named it and shown its token
//   - secrets are compared in constant time, and no reason repeats one
//   - places may be added at the end; a build ignores those that it does not know

import { createHash, timingSafeEqual } from 'node:crypto'
import { ERROR_CODES, type ErrorCode, Malformed, pack, show, unpack } from '@latchkey/protocol'
import type { GroupId, MemberId } from '../core/types.js'
import { WIRE } from './frames.js'
import type { PeerInfo } from './transport.js'

/** Who this member is. Asked anew for each handshake, since a cluster's id is drawn late. */
export interface Self {
  readonly cluster: string
  readonly clusterId: string
  readonly id: MemberId
  readonly incarnation: string
  readonly boot: number
  readonly group: GroupId
  readonly level: number
  /** What all members show each other; undefined: nothing is asked for. */
  readonly token: string | undefined
}

export interface Hello {
  readonly cluster: string
  readonly token: string | undefined
  /** Whom the caller believes to have dialled. */
  readonly to: MemberId
  readonly least: number
  readonly most: number
  /** Its `version` is the highest that it speaks. */
  readonly info: PeerInfo
}

export interface Refusal {
  readonly code: ErrorCode
  readonly reason: string
  /** The other side named this cluster and showed its token: it is told who refuses. */
  readonly trusted: boolean
}

export type Reply =
  | { readonly ok: true; readonly token: string | undefined; readonly info: PeerInfo }
  | {
      readonly ok: false
      readonly code: ErrorCode
      readonly reason: string
      readonly info: PeerInfo | undefined
    }

/** The entry up to which that id is known to be no member; undefined: it is one, or nobody is known. */
export type Missing = (id: MemberId) => number | undefined

/** Asked last, of one who is a member by cluster and credentials: undefined, or the reason why it is not admitted. */
export type Admit = (info: PeerInfo) => string | undefined

const HANDSHAKE = 1
const HELLO = 0
const WELCOME = 1
const REFUSAL = 2
/** A handshake is never longer. */
export const HANDSHAKE_LIMIT = 16 * 1024
const TEXT_LIMIT = 1024

// ---- out

const placesOf = (self: Self): unknown[] => [
  self.id,
  self.incarnation,
  self.boot,
  self.clusterId,
  self.group,
  self.level,
]

export const encodeHello = (self: Self, to: MemberId): Uint8Array =>
  pack([HANDSHAKE, HELLO, self.cluster, self.token, to, WIRE.least, WIRE.most, placesOf(self)])

export const encodeWelcome = (self: Self, version: number, missing?: number): Uint8Array =>
  pack([HANDSHAKE, WELCOME, version, self.token, placesOf(self), missing ?? null])

export const encodeRefusal = ({ code, reason, trusted }: Refusal, self: Self): Uint8Array =>
  pack([HANDSHAKE, REFUSAL, ERROR_CODES.indexOf(code), reason, trusted ? placesOf(self) : null])

// ---- in

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= TEXT_LIMIT
const isName = (value: unknown): value is string => isText(value) && value.length > 0
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const isToken = (value: unknown): value is string | null => value === null || isText(value)

function open(frame: Uint8Array, kinds: readonly number[]): unknown[] | string {
  if (frame.length > HANDSHAKE_LIMIT) return 'a handshake is too long'
  try {
    const places = unpack(frame)
    if (!Array.isArray(places) || places[0] !== HANDSHAKE || !kinds.includes(places[1] as number))
      return 'a handshake must come first'
    return places
  } catch (error) {
    if (error instanceof Malformed) return error.message
    throw error
  }
}

function toInfo(places: unknown, version: number): PeerInfo | undefined {
  if (!Array.isArray(places)) return undefined
  const [id, incarnation, boot, clusterId, group, level] = places as unknown[]
  if (!isName(id) || !isText(incarnation) || !isCount(boot) || !isText(clusterId)) return undefined
  if (!isCount(group) || !isCount(level)) return undefined
  return { id, incarnation, boot, clusterId, group, level, version }
}

export function decodeHello(frame: Uint8Array): Hello | string {
  const places = open(frame, [HELLO])
  if (typeof places === 'string') return places
  const [, , cluster, token, to, least, most, who] = places
  if (!isText(cluster) || !isToken(token) || !isText(to)) return 'a handshake with a wrong name'
  if (!isCount(least) || !isCount(most)) return 'a handshake with a wrong version'
  const info = toInfo(who, most)
  if (info === undefined) return 'a handshake that does not say who it is'
  return { cluster, token: token ?? undefined, to, least, most, info }
}

export function decodeReply(frame: Uint8Array): Reply | string {
  const places = open(frame, [WELCOME, REFUSAL])
  if (typeof places === 'string') return places
  return places[1] === WELCOME ? toWelcome(places) : toRefusal(places)
}

function toWelcome([, , version, token, who, missing]: unknown[]): Reply | string {
  if (!isCount(version) || version < WIRE.least || version > WIRE.most)
    return `version ${show(version)} is not spoken here`
  const info = toInfo(who, version)
  if (!isToken(token) || info === undefined) return 'a welcome that does not say who it is'
  return { ok: true, token: token ?? undefined, info: isCount(missing) ? { ...info, missing } : info }
}

function toRefusal([, , code, reason, who]: unknown[]): Reply | string {
  if (!isCount(code) || !isText(reason)) return 'a refusal without a reason'
  return { ok: false, code: ERROR_CODES[code] ?? 'ERR_PROTOCOL', reason, info: toInfo(who, 0) }
}

// ---- the verdict

/** The version that both speak, or why the caller is turned away. */
export function judgeHello(self: Self, hello: Hello, admit: Admit): PeerInfo | Refusal {
  const { info, to } = hello
  const version = Math.min(hello.most, WIRE.most)
  if (version < Math.max(hello.least, WIRE.least))
    return refuse(
      'ERR_PROTOCOL',
      `the dialling side speaks wire versions ${hello.least} to ${hello.most}, the other ${WIRE.least} to ${WIRE.most}: update the older one`,
    )
  if (hello.cluster !== self.cluster)
    return refuse(
      'ERR_WRONG_CLUSTER',
      'the names of the clusters differ: check the address and the cluster name',
    )
  if (!sameSecret(self.token, hello.token)) return refuse('ERR_UNAUTHORIZED', NO_TOKEN)
  if (to !== self.id)
    return refuse('ERR_WRONG_CLUSTER', `this is member ${self.id}, not ${to}: check the addresses`, true)
  return judgeInfo(self, { ...info, version }, admit)
}

/** The same from the other side: the one who was dialled. */
export function judgeWelcome(
  self: Self,
  to: MemberId,
  reply: Reply & { ok: true },
  admit: Admit,
): PeerInfo | Refusal {
  if (!sameSecret(self.token, reply.token)) return refuse('ERR_UNAUTHORIZED', NO_TOKEN)
  if (reply.info.id !== to)
    return refuse(
      'ERR_WRONG_CLUSTER',
      `member ${reply.info.id} answers at the address of ${to}: check the addresses`,
      true,
    )
  return judgeInfo(self, reply.info, admit)
}

const NO_TOKEN = 'no valid member token was shown'

/** Also asked again of one who is connected, when what this member knows has changed. */
export function judgeInfo(self: Self, info: PeerInfo, admit: Admit): PeerInfo | Refusal {
  if (info.id === self.id)
    return refuse(
      'ERR_WRONG_CLUSTER',
      `two processes say that they are member ${info.id}: check the addresses`,
      true,
    )
  if (info.group !== self.group)
    return refuse('ERR_WRONG_CLUSTER', `the groups differ: ${info.group} and ${self.group}`, true)
  if (info.clusterId !== '' && self.clusterId !== '' && info.clusterId !== self.clusterId)
    return refuse(
      'ERR_WRONG_CLUSTER',
      'these are two clusters of one name, founded or restored apart: check the addresses, or whose directory is used',
      true,
    )
  const reason = admit(info)
  return reason === undefined ? info : refuse('ERR_WRONG_CLUSTER', reason, true)
}

export const isRefusal = (verdict: PeerInfo | Refusal): verdict is Refusal => 'code' in verdict

const refuse = (code: ErrorCode, reason: string, trusted = false): Refusal => ({ code, reason, trusted })

const digest = (secret: string): Buffer => createHash('sha256').update(secret).digest()

function sameSecret(own: string | undefined, shown: string | undefined): boolean {
  return own === undefined || timingSafeEqual(digest(own), digest(shown ?? ''))
}
