// Door: encodes, decodes and checks the frames of the handshake between two members. The form of these frames
// never changes, so that any two versions at least understand each other's refusal.
//
//   the side that dials                                the side that was dialled
//   greeting  versions, cluster name, ids, nonce   ->
//                                                  <-  challenge  versions, nonce
//   proof     (token-proof.ts)                      ->
//                                                  <-  proof
//   hello     its own description                  ->
//                                                  <-  welcome  its own description
//                                                      (or, at any step, a refusal)
//
// Laws
//   - a side that has not proved that it has the member token learns only the cluster's name and the two ids.
//     Without this law: member b is down, and a stranger listens at b's address. The stranger learns the
//     cluster's id and b's incarnation (the random id of b's data directory). If no token is configured, the
//     stranger can then pass as b, or connect two clusters that must stay apart.
//   - a member believes the statements of the other side only after that side has proved that it has the
//     token. Without this law: a stranger sends a refusal with another boot number (the random number of a
//     process). The member then believes that its living leader is dead (TR3).
//   - a side may ask only which member it has reached. It gets the answer if it would be admitted. Such a
//     question never replaces an earlier connection of the same two members, because one member can have two
//     addresses.
//   - secrets are compared in constant time, and no refusal repeats a secret.
//   - new fields are added at the end of a frame, and an older version ignores fields that it does not know.

import { copyBytes, NONCE_BYTES } from '@latchkey/base'
import { ERROR_CODES, type ErrorCode, Malformed, pack, unpack } from '@latchkey/protocol'
import type { GroupId, MemberId } from '../core/types.js'
import { WIRE } from './frames.js'
import { PROOF_BYTES, type Side } from './token-proof.js'
import type { PeerInfo } from './transport-interface.js'

/**
 * This member's description of itself. It is built again at each step of a handshake, because the cluster's
 * id may be drawn during a handshake.
 */
export interface Self {
  readonly cluster: string
  readonly clusterId: string
  readonly id: MemberId
  readonly incarnation: string
  readonly boot: number
  readonly born?: string | undefined
  readonly group: GroupId
  readonly level: number
  /**
   * The tokens that members share. This member proves the first token, and accepts proofs of all tokens.
   * Empty if the members use no token.
   */
  readonly tokens: readonly string[]
}

export interface Greeting extends Side {
  readonly cluster: string
  readonly from: MemberId
  readonly to: MemberId
}

export interface Refusal {
  readonly code: ErrorCode
  readonly reason: string
  /**
   * True if the other side has proved that it has the member token. Only a trusted side gets this member's
   * description.
   */
  readonly trusted: boolean
}

/**
 * A received refusal. `info` describes the side that refuses. A caller believes `info` only if that side has
 * proved its identity.
 */
export interface Refused {
  readonly ok: false
  readonly code: ErrorCode
  readonly reason: string
  readonly info: PeerInfo | undefined
}

type Reply = { readonly ok: true; readonly info: PeerInfo } | Refused

/**
 * Returns undefined if `id` is a member, or if this member knows no members yet. Otherwise returns this
 * member's applied index, at which `id` is not a member.
 */
export type Missing = (id: MemberId) => number | undefined

/**
 * The last check of a handshake. Returns the reason to refuse the member `info`, or undefined to admit it.
 */
export type Admit = (info: PeerInfo) => string | undefined

const HANDSHAKE = 1
const HELLO = 0
const WELCOME = 1
const REFUSAL = 2
const GREETING = 3
const CHALLENGE = 4
const PROOF = 5
/** In bytes. */
export const HANDSHAKE_LIMIT = 8 * 1024
const TEXT_LIMIT = 1024

// ---- Encoding

const placesOf = (self: Self): unknown[] => [
  self.id,
  self.incarnation,
  self.boot,
  self.clusterId,
  self.group,
  self.level,
  self.born,
]

export const encodeGreeting = ({ least, most, cluster, from, to, nonce }: Greeting): Uint8Array =>
  pack([HANDSHAKE, GREETING, least, most, cluster, from, to, nonce])

export const encodeChallenge = ({ least, most, nonce }: Side): Uint8Array =>
  pack([HANDSHAKE, CHALLENGE, least, most, nonce])

export const encodeProof = (proof: Uint8Array): Uint8Array => pack([HANDSHAKE, PROOF, proof])

/** If `asks` is true, the sender only wants to know which member answers, and does not ask to be admitted. */
export const encodeHello = (self: Self, asks = false): Uint8Array =>
  pack(asks ? [HANDSHAKE, HELLO, placesOf(self), true] : [HANDSHAKE, HELLO, placesOf(self)])

export const encodeWelcome = (self: Self, version: number, missing?: number): Uint8Array =>
  pack([HANDSHAKE, WELCOME, version, placesOf(self), missing ?? null])

export const encodeRefusal = ({ code, reason, trusted }: Refusal, self: Self): Uint8Array =>
  pack([HANDSHAKE, REFUSAL, ERROR_CODES.indexOf(code), reason, trusted ? placesOf(self) : null])

// ---- Decoding

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= TEXT_LIMIT
const isName = (value: unknown): value is string => isText(value) && value.length > 0
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const isBytes = (value: unknown, length: number): value is Uint8Array =>
  value instanceof Uint8Array && value.length === length

const isDate = (value: unknown): value is string =>
  typeof value === 'string' && /^[-0-9T:.]{1,40}Z$/.test(value)

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
  const [id, incarnation, boot, clusterId, group, level, born] = places as unknown[]
  if (!isName(id) || !isText(incarnation) || !isCount(boot) || !isText(clusterId)) return undefined
  if (!isCount(group) || !isCount(level)) return undefined
  const info = { id, incarnation, boot, clusterId, group, level, version }
  return isDate(born) ? { ...info, born } : info
}

export function decodeGreeting(frame: Uint8Array): Greeting | string {
  const places = open(frame, [GREETING])
  if (typeof places === 'string') return places
  const [, , least, most, cluster, from, to, nonce] = places
  const side = toSide(least, most, nonce)
  if (side === undefined) return 'a greeting without versions or a nonce'
  if (!isText(cluster) || !isName(from) || !isName(to)) return 'a greeting with a wrong name'
  return { cluster, from, to, ...side }
}

export function decodeChallenge(frame: Uint8Array): Side | Refused | string {
  const places = open(frame, [CHALLENGE, REFUSAL])
  if (typeof places === 'string') return places
  if (places[1] === REFUSAL) return toRefusal(places)
  const [, , least, most, nonce] = places
  return toSide(least, most, nonce) ?? 'a challenge without versions or a nonce'
}

const toSide = (least: unknown, most: unknown, nonce: unknown): Side | undefined =>
  isCount(least) && isCount(most) && isBytes(nonce, NONCE_BYTES)
    ? { least, most, nonce: copyBytes(nonce) }
    : undefined

export function decodeProof(frame: Uint8Array): Uint8Array | Refused | string {
  const places = open(frame, [PROOF, REFUSAL])
  if (typeof places === 'string') return places
  if (places[1] === REFUSAL) return toRefusal(places)
  return isBytes(places[2], PROOF_BYTES) ? places[2] : 'a proof that is none'
}

/** `version` is the wire version that both sides use. Returns a text if the frame is not a hello. */
export function decodeHello(frame: Uint8Array, version: number): PeerInfo | string {
  const places = open(frame, [HELLO])
  if (typeof places === 'string') return places
  const info = toInfo(places[2], version)
  if (info === undefined) return 'a handshake that does not say who it is'
  return places[3] === true ? { ...info, asks: true } : info
}

export function decodeReply(frame: Uint8Array): Reply | string {
  const places = open(frame, [WELCOME, REFUSAL])
  if (typeof places === 'string') return places
  return places[1] === WELCOME ? toWelcome(places) : toRefusal(places)
}

function toWelcome([, , version, who, missing]: unknown[]): Reply | string {
  if (!isCount(version) || version < WIRE.least || version > WIRE.most)
    return 'a welcome in a version that is not spoken here'
  const info = toInfo(who, version)
  if (info === undefined) return 'a welcome that does not say who it is'
  return { ok: true, info: isCount(missing) ? { ...info, missing } : info }
}

function toRefusal([, , code, reason, who]: unknown[]): Refused | string {
  if (!isCount(code) || !isText(reason)) return 'a refusal without a reason'
  return { ok: false, code: ERROR_CODES[code] ?? 'ERR_PROTOCOL', reason, info: toInfo(who, 0) }
}

// ---- The checks

export const versionOf = (dialled: Side, answered: Side): number => Math.min(dialled.most, answered.most)

/** Undefined if the two sides have a wire version in common. */
export function noVersion(dialled: Side, answered: Side): Refusal | undefined {
  if (versionOf(dialled, answered) >= Math.max(dialled.least, answered.least)) return undefined
  return refuse(
    'ERR_PROTOCOL',
    `the dialling side speaks wire versions ${dialled.least} to ${dialled.most}, the other ${answered.least} to ${answered.most}: update the older one`,
  )
}

export const WRONG_NAME = refuse(
  'ERR_WRONG_CLUSTER',
  'the names of the clusters differ: check the address and the cluster name',
)

export const WRONG_PROOF = refuse(
  'ERR_UNAUTHORIZED',
  'the member token was not proved: give all members the same auth.memberToken (--member-token), and under TLS let nothing between them end it',
)

/**
 * This member refuses a side that wanted to reach another member. The refusal contains no description of this
 * member, because a stranger at the other member's address may have forwarded the proof.
 */
export const notForUs = (self: MemberId, to: MemberId): Refusal =>
  refuse('ERR_WRONG_CLUSTER', `this is member ${self}, not ${to}: check the addresses`)

/** Checks the description in a hello. Its id must be the id that the other side has proved. */
export function judgeHello(self: Self, proven: MemberId, info: PeerInfo, admit: Admit): PeerInfo | Refusal {
  if (info.id !== proven)
    return refuse('ERR_UNAUTHORIZED', `one that has proved to be member ${proven} says that it is another`)
  return judgeInfo(self, info, admit)
}

/** Checks the description in a welcome. Its id must be the id of the dialled member. */
export function judgeWelcome(self: Self, to: MemberId, info: PeerInfo, admit: Admit): PeerInfo | Refusal {
  if (info.id !== to)
    return refuse(
      'ERR_WRONG_CLUSTER',
      `member ${info.id} answers at the address of ${to}: check the addresses`,
      true,
    )
  return judgeInfo(self, info, admit)
}

/**
 * Compares the other side's description with this member's description. A member also checks its connected
 * peers when its own cluster id or membership has changed.
 */
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

function refuse(code: ErrorCode, reason: string, trusted = false): Refusal {
  return { code, reason, trusted }
}
