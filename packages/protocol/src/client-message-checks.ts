// Door: checks one decoded message of a frame, and converts it into a LinkRequest or LinkReply. A returned
// text is the reason to refuse the frame.

import {
  checkAnswer,
  checkEvent,
  checkOwner,
  checkParty,
  checkRead,
  checkTicket,
  bound,
  count,
  flag,
  listOf,
  orNull,
  places,
  text,
  whole,
} from './command-and-answer-checks.js'
import type { Check } from './command-and-answer-checks.js'
import { show } from './common-argument-checks.js'
import { CAPS } from './fixed-limits.js'
import { toAnswer } from './command-and-answer-codec.js'
import {
  ADMIN_CALLS,
  type LeaderReply,
  type LinkReply,
  type LinkRequest,
  type MemberTuple,
} from './client-messages.js'
import type { AdminCall } from './client-messages.js'
import type { Read } from './command-and-read-wire-types.js'
import {
  type Answer,
  type EventResult,
  type OwnerResult,
  WATCH_OF,
  type WatchOf,
} from './result-wire-types.js'
import type { PartyResult, PartyTicket } from './latch-and-barrier-operations.js'
import { isTraceparent } from './traceparent.js'

/**
 * The kinds of requests (ASK) and of replies (TELL). The kind is the first element of a message. Add new
 * kinds at the end.
 */
export const ASK = {
  hello: 0,
  command: 1,
  read: 2,
  watch: 3,
  watchMore: 4,
  watchEnd: 5,
  attach: 6,
  admin: 7,
} as const
export const TELL = {
  welcome: 0,
  answer: 1,
  events: 2,
  watchOver: 3,
  granted: 4,
  leader: 5,
  ended: 6,
} as const

const kind = count('a kind')
/** A record of the log has 48 bits for such a number, so a leader could not store a larger number. */
const recordNumber = (what: string): Check => whole(0, CAPS.recordNumber, what)
const MOST_ARGUMENTS = 8
const id = whole(1, Number.MAX_SAFE_INTEGER, 'an id')
const bytes =
  (most: number, what: string): Check =>
  (value) =>
    value instanceof Uint8Array && value.length <= most ? null : `${what} must be at most ${most} bytes`
const answerBytes = bytes(CAPS.maxPayload, 'an answer')
/** An answer is a list, or the encoded bytes of an answer that the state machine has stored. */
const answer: Check = (value) => (Array.isArray(value) ? null : answerBytes(value))
const answerIn = (value: unknown): Answer | Uint8Array =>
  value instanceof Uint8Array ? value : toAnswer(value)
const name = text(0, 4096, 'a name')
const url = text(0, 4096, 'an address')

/** A traced request has one more element, the traceparent. */
const inTrace = (what: string, ...checks: readonly Check[]): Check => {
  const untraced = places(what, ...checks)
  const traced = places(what, ...checks, (value) =>
    isTraceparent(value) ? null : 'a trace must be a traceparent of version 00',
  )
  return (value) => (Array.isArray(value) && value.length > checks.length ? traced(value) : untraced(value))
}

type Row<Message> = readonly [check: Check, build: (places: never) => Message]

const ASKS: Record<number, Row<LinkRequest>> = {
  [ASK.command]: [
    inTrace(
      'command',
      kind,
      id,
      recordNumber('a session'),
      recordNumber('a number'),
      recordNumber('done'),
      bytes(CAPS.commandBytes, 'a body'),
    ),
    (
      m: [
        kind: unknown,
        id: number,
        session: number,
        number: number,
        done: number,
        body: Uint8Array,
        trace?: string,
      ],
    ) => ({
      kind: 'command',
      id: m[1],
      session: m[2],
      number: m[3],
      done: m[4],
      body: m[5],
      ...(m[6] === undefined ? {} : { trace: m[6] }),
    }),
  ],
  [ASK.read]: [
    inTrace('read', kind, id, flag('stale'), checkRead),
    (m: [kind: unknown, id: number, stale: boolean, read: Read, trace?: string]) => ({
      kind: 'read',
      id: m[1],
      stale: m[2],
      read: m[3],
      ...(m[4] === undefined ? {} : { trace: m[4] }),
    }),
  ],
  [ASK.watch]: [
    places(
      'watch',
      kind,
      id,
      orNull(bound),
      orNull(bound),
      recordNumber('from'),
      whole(0, WATCH_OF.renewals, 'what it is of'),
    ),
    (
      m: [
        kind: unknown,
        id: number,
        start: Uint8Array | null,
        end: Uint8Array | null,
        from: number,
        of: 0 | WatchOf,
      ],
    ) => ({
      kind: 'watch',
      id: m[1],
      start: m[2],
      end: m[3],
      from: m[4],
      ...(m[5] === WATCH_OF.keys ? {} : { of: m[5] }),
    }),
  ],
  [ASK.watchMore]: [
    places('watchMore', kind, id, whole(1, 2 ** 31, 'events')),
    (m: [kind: unknown, id: number, events: number]) => ({ kind: 'watchMore', id: m[1], events: m[2] }),
  ],
  [ASK.watchEnd]: [
    places('watchEnd', kind, id),
    (m: [kind: unknown, id: number]) => ({ kind: 'watchEnd', id: m[1] }),
  ],
  [ASK.attach]: [
    places('attach', kind, recordNumber('a session')),
    (m: [kind: unknown, session: number]) => ({ kind: 'attach', session: m[1] }),
  ],
  [ASK.admin]: [
    inTrace(
      'admin',
      kind,
      id,
      (call) => (ADMIN_CALLS.includes(call as AdminCall) ? null : 'no known call'),
      listOf(orNull(name), 'arguments', MOST_ARGUMENTS),
    ),
    (m: [kind: unknown, id: number, call: AdminCall, args: unknown[], trace?: string]) => ({
      kind: 'admin',
      id: m[1],
      call: m[2],
      args: m[3],
      ...(m[4] === undefined ? {} : { trace: m[4] }),
    }),
  ],
}

const member: Check = (value) =>
  Array.isArray(value) && value.length === 3
    ? places(
        'a member',
        name,
        url,
        orNull((role) => (role === 'voter' || role === 'learner' ? null : 'no known role')),
      )(value)
    : 'a member must have 3 places'

const TELLS: Record<number, Row<LinkReply>> = {
  [TELL.answer]: [
    places('answer', kind, id, count('a time'), flag('never'), answer),
    (m: [kind: unknown, id: number, time: number, never: boolean, answer: unknown]) => ({
      kind: 'answer',
      id: m[1],
      time: m[2],
      never: m[3],
      answer: answerIn(m[4]),
    }),
  ],
  [TELL.events]: [
    places('events', kind, listOf(id, 'ids'), count('upTo'), listOf(checkEvent, 'events')),
    (m: [kind: unknown, ids: readonly number[], upTo: number, events: readonly EventResult[]]) => ({
      kind: 'events',
      ids: m[1],
      upTo: m[2],
      events: m[3],
    }),
  ],
  [TELL.watchOver]: [
    places('watchOver', kind, id, answer),
    (m: [kind: unknown, id: number, answer: unknown]) => ({
      kind: 'watchOver',
      id: m[1],
      answer: answerIn(m[2]),
    }),
  ],
  [TELL.granted]: [
    places('granted', kind, bytes(CAPS.keyBytes, 'a key'), checkOwner),
    (m: [kind: unknown, key: Uint8Array, owner: OwnerResult]) => ({
      kind: 'granted',
      key: m[1],
      owner: m[2],
    }),
  ],
  [TELL.ended]: [
    places('ended', kind, checkTicket, checkParty),
    (m: unknown[]) => ({ kind: 'ended', ticket: m[1] as PartyTicket, result: m[2] as PartyResult }),
  ],
  [TELL.leader]: [
    places(
      'leader',
      kind,
      orNull(name),
      orNull(url),
      count('a term'),
      name,
      name,
      name,
      listOf(member, 'members'),
      count('an election timeout'),
      listOf(name, 'missing'),
      flag('isFirstStart'),
    ),
    (
      m: [
        kind: unknown,
        id: string | null,
        url: string | null,
        term: number,
        role: string,
        self: string,
        clusterId: string,
        members: [string, string, MemberTuple[2] | null][],
        electionTimeout: number,
        missing: readonly string[],
        isFirstStart: boolean,
      ],
    ): LeaderReply => ({
      kind: 'leader',
      id: m[1] ?? undefined,
      url: m[2] ?? undefined,
      term: m[3],
      role: m[4],
      self: m[5],
      clusterId: m[6],
      members: m[7].map(toMember),
      electionTimeout: m[8],
      missing: m[9],
      isFirstStart: m[10],
    }),
  ],
}

const toMember = ([of, at, role]: [string, string, MemberTuple[2] | null]): MemberTuple =>
  role === null ? [of, at] : [of, at, role]

function known<Message>(rows: Record<number, Row<Message>>, message: unknown): Message | string {
  const first: unknown = Array.isArray(message) ? message[0] : undefined
  const row = typeof first === 'number' ? rows[first] : undefined
  if (!row) return `no known message: ${show(first)}`
  const reason = row[0](message)
  return reason ?? row[1](message as never)
}

export const toRequest = (message: unknown): LinkRequest | string => known(ASKS, message)
export const toReply = (message: unknown): LinkReply | string => known(TELLS, message)

export const checkHello = places(
  'hello',
  kind,
  name,
  orNull(name),
  orNull(text(0, 8192, 'a token')),
  count('a version'),
  count('a version'),
)
export const checkWelcome = places('welcome', kind, count('a version'), name, (answer) =>
  answer === null ? null : checkAnswer(answer),
)
export type WelcomePlaces = readonly [number, number, string, Answer | null]
