// Door: encodes and decodes the frames between a client and a member. A frame is [version, ...messages]. The
// receiver accepts or refuses the whole frame.

import { show } from './common-argument-checks.js'
import { CAPS } from './fixed-limits.js'
import { pack } from './msgpack-encoder.js'
import { Malformed, OF_ANSWERS, unpack, type UnpackOptions } from './msgpack-decoder.js'
import {
  ASK,
  TELL,
  type WelcomePlaces,
  checkHello,
  checkWelcome,
  toReply,
  toRequest,
} from './client-message-checks.js'
import { CLIENT_WIRE, type Hello, type LinkReply, type LinkRequest, type Welcome } from './client-messages.js'

// ---- Frames

/**
 * A sender that has gathered this many messages sends them before its turn of the event loop ends. So the
 * receiver works on the first messages of a long turn while the sender still makes the next messages. With
 * 256 callers, this gave 10 to 15 % more lock pairs and reads per second (docs/performance.md).
 */
export const MOST_IN_FRAME = 128

/**
 * Encodes messages that the sender has produced in one turn of the event loop. A new frame begins before a
 * frame of several messages would exceed CAPS.frameBytes.
 */
export const encodeRequests = (requests: readonly LinkRequest[]): Uint8Array[] =>
  frames(requests, requestPlaces)
export const encodeReplies = (replies: readonly LinkReply[]): Uint8Array[] => frames(replies, replyPlaces)

/**
 * Decodes a frame. A returned text is the reason to refuse the frame, and the caller must then close the
 * connection. Byte values are views of `frame`.
 */
export const decodeRequests = (frame: Uint8Array): LinkRequest[] | string => messages(frame, toRequest)
export const decodeReplies = (frame: Uint8Array): LinkReply[] | string => messages(frame, toReply, OF_ANSWERS)

function frames<Message>(list: readonly Message[], toPlaces: (message: Message) => unknown[]): Uint8Array[] {
  const done: Uint8Array[] = []
  let frame: unknown[] = [CLIENT_WIRE.most]
  let size = 0
  for (const message of list) {
    const places = toPlaces(message)
    const more = weight(places)
    if (size > 0 && size + more > CAPS.frameBytes) {
      done.push(pack(frame))
      frame = [CLIENT_WIRE.most]
      size = 0
    }
    frame.push(places)
    size += more
  }
  if (frame.length > 1) done.push(pack(frame))
  return done
}

const PLAIN_WEIGHT = 9
function weight(value: unknown): number {
  if (value instanceof Uint8Array || typeof value === 'string') return value.length + PLAIN_WEIGHT
  if (!Array.isArray(value)) return PLAIN_WEIGHT
  let sum = 1
  for (const part of value) sum += weight(part)
  return sum
}

function messages<Message>(
  frame: Uint8Array,
  toMessage: (message: unknown) => Message | string,
  options?: UnpackOptions,
): Message[] | string {
  const opened = open(frame, options)
  if (typeof opened === 'string') return opened
  const list: Message[] = []
  for (let i = 1; i < opened.length; i++) {
    const message = toMessage(opened[i])
    if (typeof message === 'string') return message
    list.push(message)
  }
  return list
}

function open(frame: Uint8Array, options?: UnpackOptions): unknown[] | string {
  if (frame.length > CAPS.maxPayload) return 'a frame is too long'
  try {
    const value = unpack(frame, options)
    if (!Array.isArray(value)) return 'a frame must be a list'
    if (value[0] !== CLIENT_WIRE.most) return `version ${show(value[0])} is not spoken here`
    return value
  } catch (error) {
    if (error instanceof Malformed) return error.message
    throw error
  }
}

// ---- Messages

function requestPlaces(request: LinkRequest): unknown[] {
  switch (request.kind) {
    case 'command':
      return inTrace(
        [ASK.command, request.id, request.session, request.number, request.done, request.body],
        request.trace,
      )
    case 'read':
      return inTrace([ASK.read, request.id, request.stale, request.read], request.trace)
    case 'watch':
      return [ASK.watch, request.id, request.start, request.end, request.from, request.of ?? 0]
    case 'watchMore':
      return [ASK.watchMore, request.id, request.events]
    case 'watchEnd':
      return [ASK.watchEnd, request.id]
    case 'attach':
      return [ASK.attach, request.session]
    case 'admin':
      return inTrace([ASK.admin, request.id, request.call, request.args], request.trace)
  }
}

/** Appends the trace, if there is one, as the last element of the message. */
function inTrace(places: unknown[], trace: string | undefined): unknown[] {
  if (trace !== undefined) places.push(trace)
  return places
}

function replyPlaces(reply: LinkReply): unknown[] {
  switch (reply.kind) {
    case 'answer':
      return [TELL.answer, reply.id, reply.time, reply.never, reply.answer]
    case 'events':
      return [TELL.events, reply.ids, reply.upTo, reply.events]
    case 'watchOver':
      return [TELL.watchOver, reply.id, reply.answer]
    case 'granted':
      return [TELL.granted, reply.key, reply.owner]
    case 'ended':
      return [TELL.ended, reply.ticket, reply.result]
    case 'leader': {
      const members = reply.members.map(([id, url, role]) => [id, url, role ?? null])
      const { id, url, term, role, self, clusterId, electionTimeout, missing = [] } = reply
      const last = [electionTimeout, missing, reply.isFirstStart === true]
      return [TELL.leader, id, url, term, role, self, clusterId, members, ...last]
    }
  }
}

// ---- The handshake: one frame in each direction. These two frames never change. So a client understands why
// a member refuses the connection, even if the versions of the client and the member differ

const HANDSHAKE = 1

export const encodeHello = (hello: Hello): Uint8Array =>
  pack([HANDSHAKE, [ASK.hello, hello.cluster, hello.clusterId, hello.token, hello.least, hello.most]])

export function decodeHello(frame: Uint8Array): Hello | string {
  const places = handshake(frame)
  if (typeof places === 'string') return places
  const reason = places[0] === ASK.hello ? checkHello(places) : 'a handshake must come first'
  if (reason !== null) return reason
  const [, cluster, clusterId, token, least, most] = places as [
    number,
    string,
    string | null,
    string | null,
    number,
    number,
  ]
  return { cluster, clusterId: clusterId ?? undefined, token: token ?? undefined, least, most }
}

export const encodeWelcome = (welcome: Welcome): Uint8Array =>
  pack([
    HANDSHAKE,
    welcome.ok
      ? [TELL.welcome, welcome.version, welcome.clusterId, null]
      : [TELL.welcome, 0, '', welcome.answer],
  ])

export function decodeWelcome(frame: Uint8Array): Welcome | string {
  const places = handshake(frame)
  if (typeof places === 'string') return places
  const reason = places[0] === TELL.welcome ? checkWelcome(places) : 'a handshake must come first'
  if (reason !== null) return reason
  const [, version, clusterId, answer] = places as unknown as WelcomePlaces
  return answer === null ? { ok: true, version, clusterId } : { ok: false, answer }
}

function handshake(frame: Uint8Array): unknown[] | string {
  const opened = open(frame)
  if (typeof opened === 'string') return opened
  return opened.length === 2 && Array.isArray(opened[1]) ? opened[1] : 'a handshake must come first'
}
