// Door: encodes and decodes the messages between members that are not messages of Raft, as msgpack arrays.
// Any other frame is decoded to null.

import { copyBytes, type Random } from '@latchkey/base'
import { SPACE_NAMES, type SpaceName } from '@latchkey/kv'
import { CAPS, isTraceparent, pack, unpack } from '@latchkey/protocol'

/** The sender of a request chooses the `id`, and the answer has the same `id`. */
export type MemberMessage =
  | {
      readonly kind: 'command'
      readonly id: number
      readonly session: number
      readonly number: number
      readonly done: number
      readonly body: Uint8Array
      /** The W3C traceparent of the sender's span. */
      readonly trace?: string | undefined
    }
  /**
   * `time` is the cluster time of the command's entry, from which a lock holder computes an upper bound of
   * cluster time (CT5). A `time` of 0 proves nothing.
   */
  | { readonly kind: 'applied'; readonly id: number; readonly time: number; readonly bytes: Uint8Array }
  /**
   * `refused`: the command was not written into the log. `unknown`: the leader has the command, and nobody
   * knows whether it will be applied.
   */
  | { readonly kind: 'refused'; readonly id: number; readonly reason: string }
  | { readonly kind: 'unknown'; readonly id: number }
  | { readonly kind: 'call'; readonly id: number; readonly call: string; readonly args: readonly unknown[] }
  | { readonly kind: 'returned'; readonly id: number; readonly answer: Uint8Array }
  /** The sender's state after the entry `index`: one hash for each key space (state-hash-check.ts). */
  | {
      readonly kind: 'stateHashes'
      readonly index: number
      readonly spaces: Readonly<Record<string, string>>
    }
  /**
   * Asks for a checksum of at most `rows` rows after the key `after`, in the state after the entry `index`
   * (see first-different-row.ts).
   */
  | {
      readonly kind: 'compare'
      readonly id: number
      readonly index: number
      readonly space: SpaceName
      readonly after: Uint8Array | undefined
      readonly rows: number
    }
  /**
   * The answer to `compare`: `sum` is the checksum of the rows, and `last` is the key of the last row. `rows`
   * is undefined if the sender no longer has that state.
   */
  | {
      readonly kind: 'compared'
      readonly id: number
      readonly rows: { readonly sum: string; readonly last: Uint8Array | undefined } | undefined
    }
  | LinkMessage

/**
 * A link connects the store that is embedded in one member with another member
 * (store-links-from-other-members.ts). The member that opens the link chooses its `id`. A `frame` contains
 * requests of the store or replies to the store. With an empty frame, the member that opened the link asks
 * whether the other member is alive. The other member answers with an empty frame.
 */
export type LinkMessage =
  | { readonly kind: 'linkOpen'; readonly id: number }
  | { readonly kind: 'linkRequests'; readonly id: number; readonly frame: Uint8Array }
  | { readonly kind: 'linkClose'; readonly id: number }
  | { readonly kind: 'linkReplies'; readonly id: number; readonly frame: Uint8Array }
  /** From the member that serves the link. */
  | { readonly kind: 'linkClosed'; readonly id: number; readonly reason: string }
  /**
   * Tells the receiver that it was removed. After the entry `index`, the members of the cluster do not
   * include the receiver.
   */
  | { readonly kind: 'notMember'; readonly index: number }

const KINDS = [
  'command',
  'applied',
  'refused',
  'unknown',
  'call',
  'returned',
  'stateHashes',
  'compare',
  'compared',
  'linkOpen',
  'linkRequests',
  'linkClose',
  'linkReplies',
  'linkClosed',
  'notMember',
] as const
type Kind = (typeof KINDS)[number]

/**
 * Law: the ids of requests begin at another number at each start of a member. So an answer to a request from
 * before a restart never completes a later request (C5). The first id is one of 2^32 random values, which are
 * half a million apart. All are far below 2^53.
 */
export const firstId = (random: Random): number => 1 + random.next() * 2 ** 19

export function encodeMemberMessage(message: MemberMessage): Uint8Array {
  const kind = KINDS.indexOf(message.kind)
  switch (message.kind) {
    case 'command':
      return pack([
        kind,
        message.id,
        message.session,
        message.number,
        message.done,
        message.body,
        ...(message.trace === undefined ? [] : [message.trace]),
      ])
    case 'applied':
      return pack([kind, message.id, message.time, message.bytes])
    case 'refused':
      return pack([kind, message.id, message.reason])
    case 'unknown':
      return pack([kind, message.id])
    case 'call':
      return pack([kind, message.id, message.call, message.args])
    case 'returned':
      return pack([kind, message.id, message.answer])
    case 'stateHashes':
      return pack([kind, message.index, Object.entries(message.spaces)])
    case 'compare':
      return pack([kind, message.id, message.index, message.space, message.after ?? null, message.rows])
    case 'compared': {
      const { id, rows } = message
      return pack([kind, id, rows === undefined ? null : [rows.sum, rows.last ?? null]])
    }
    case 'linkOpen':
    case 'linkClose':
      return pack([kind, message.id])
    case 'linkRequests':
    case 'linkReplies':
      return pack([kind, message.id, message.frame])
    case 'linkClosed':
      return pack([kind, message.id, message.reason])
    case 'notMember':
      return pack([kind, message.index])
  }
}

const count = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
const isSpaceName = (value: unknown): value is SpaceName =>
  (SPACE_NAMES as readonly unknown[]).includes(value)
const copyOf = (value: Uint8Array | null): Uint8Array | undefined =>
  value === null ? undefined : copyBytes(value)
/** A message that lists more key spaces (groups of rows) than this limit is refused. */
const MOST_SPACES = 64
const isSpace = (pair: unknown): pair is [string, string] =>
  Array.isArray(pair) && pair.length === 2 && pair.every((part) => text(part) && part !== '__proto__')
const bytes = (value: unknown): value is Uint8Array => value instanceof Uint8Array
/**
 * In UTF-16 code units. A message is refused if one of its texts, such as a reason or the id of a member, is
 * longer.
 */
const MOST_TEXT = 4_096
const text = (value: unknown): value is string => typeof value === 'string' && value.length <= MOST_TEXT
const MOST_ARGUMENTS = 8
const areArguments = (value: unknown): value is (string | null)[] =>
  Array.isArray(value) &&
  value.length <= MOST_ARGUMENTS &&
  value.every((one: unknown) => one === null || text(one))
const isCommand = (value: unknown): value is Uint8Array => bytes(value) && value.length <= CAPS.commandBytes

/** Whether the number fits into a record of the log. A leader writes forwarded commands into its log. */
const fitsRecord = (value: unknown): value is number => count(value) && value <= CAPS.recordNumber

export function decodeMemberMessage(frame: Uint8Array): MemberMessage | null {
  let fields: unknown
  try {
    fields = unpack(frame)
  } catch {
    return null
  }
  if (!Array.isArray(fields)) return null
  const [code, ...rest] = fields as unknown[]
  const kind = Number.isSafeInteger(code) ? KINDS[code as number] : undefined
  return kind === undefined ? null : READERS[kind](rest)
}

const READERS: Record<Kind, (fields: unknown[]) => MemberMessage | null> = {
  command: ([id, session, number, done, body, trace]) => {
    if (!count(id) || !fitsRecord(session) || !fitsRecord(number) || !fitsRecord(done)) return null
    if (!isCommand(body) || (trace !== undefined && !isTraceparent(trace))) return null
    const command = { kind: 'command', id, session, number, done, body: copyBytes(body) } as const
    return trace === undefined ? command : { ...command, trace }
  },
  applied: ([id, time, answer]) =>
    count(id) && count(time) && bytes(answer)
      ? { kind: 'applied', id, time, bytes: copyBytes(answer) }
      : null,
  refused: ([id, reason]) => (count(id) && text(reason) ? { kind: 'refused', id, reason } : null),
  unknown: ([id]) => (count(id) ? { kind: 'unknown', id } : null),
  call: ([id, call, args]) =>
    count(id) && text(call) && areArguments(args) ? { kind: 'call', id, call, args } : null,
  returned: ([id, answer]) =>
    count(id) && bytes(answer) ? { kind: 'returned', id, answer: copyBytes(answer) } : null,
  stateHashes: ([index, pairs]) =>
    count(index) && Array.isArray(pairs) && pairs.length <= MOST_SPACES && pairs.every(isSpace)
      ? { kind: 'stateHashes', index, spaces: Object.fromEntries(pairs) }
      : null,
  compare: ([id, index, space, after, rows]) =>
    count(id) && count(index) && isSpaceName(space) && (after === null || bytes(after)) && count(rows)
      ? { kind: 'compare', id, index, space, after: copyOf(after), rows }
      : null,
  compared: ([id, rows]) => {
    if (!count(id)) return null
    if (rows === null) return { kind: 'compared', id, rows: undefined }
    if (!Array.isArray(rows)) return null
    const [sum, last] = rows as unknown[]
    return text(sum) && (last === null || bytes(last))
      ? { kind: 'compared', id, rows: { sum, last: copyOf(last) } }
      : null
  },
  linkOpen: ([id]) => (count(id) ? { kind: 'linkOpen', id } : null),
  linkClose: ([id]) => (count(id) ? { kind: 'linkClose', id } : null),
  // The reader of this frame copies its bytes, so no copy is made here.
  linkRequests: ([id, frame]) => (count(id) && bytes(frame) ? { kind: 'linkRequests', id, frame } : null),
  linkReplies: ([id, frame]) => (count(id) && bytes(frame) ? { kind: 'linkReplies', id, frame } : null),
  linkClosed: ([id, reason]) => (count(id) && text(reason) ? { kind: 'linkClosed', id, reason } : null),
  notMember: ([index]) => (count(index) ? { kind: 'notMember', index } : null),
}
