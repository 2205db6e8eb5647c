// Rule: the HTTP status and the JSON body for each error.

import { type ErrorCode, LatchkeyError, shownKey } from '@latchkey/protocol'
import type { Reply } from './http-route-dependencies.js'
import { contextJson } from './owner-json.js'

const STATUS: Readonly<Record<ErrorCode, number>> = {
  ERR_NO_LEADER: 503,
  ERR_BUSY: 429,
  ERR_TIMEOUT: 504,
  ERR_OUTCOME_UNKNOWN: 504,
  ERR_ABORTED: 504,
  ERR_CLOSED: 503,
  ERR_TOO_LARGE: 413,
  ERR_COMPACTED: 410,
  ERR_NOT_OWNER: 409,
  ERR_LOCK_LOST: 409,
  ERR_FENCED: 409,
  ERR_UNAUTHORIZED: 401,
  ERR_FORBIDDEN: 403,
  ERR_WRONG_CLUSTER: 421,
  ERR_DIR_LOCKED: 500,
  ERR_CORRUPT: 500,
  ERR_STORAGE_FAILED: 500,
  ERR_PROTOCOL: 500,
  ERR_CONFIG_CHANGE_IN_PROGRESS: 409,
  ERR_DEADLOCK: 409,
  ERR_NOT_A_NUMBER: 409,
  ERR_MISMATCH: 409,
  ERR_BARRIER_BROKEN: 409,
  ERR_UNDECODABLE: 500,
}

/** In seconds, for the header Retry-After. */
const RETRY_AFTER = '1'

export function problem(
  status: number,
  code: string,
  message: string,
  more: { retryable?: boolean; outcome?: string; headers?: Record<string, string>; fields?: object } = {},
): Reply {
  const { retryable = false, outcome = 'not-applied', headers, fields } = more
  return { status, headers, body: { code, message, retryable, outcome, ...fields } }
}

/** The names are those of docs/errors.md. */
function fieldsOf(error: LatchkeyError): object {
  const { key, holder, owner, token, waitedMillis, leader, missing, revision, clusters } = error
  const { present, circle } = error
  return {
    ...(key !== undefined && keyJson(key)),
    ...(holder !== undefined && { holder: withContextJson(holder) }),
    ...(owner !== undefined && { owner: withContextJson(owner) }),
    ...(circle !== undefined && { circle: circle.map(({ flow, key: of }) => ({ flow, ...keyJson(of) })) }),
    ...defined({ token, waitedMillis, leader, missing, revision, clusters, present }),
  }
}

/** A key that is not UTF-8 becomes base64 in the field `keyBase64`. */
export function keyJson(key: string | Uint8Array, field = 'key'): object {
  const shown = typeof key === 'string' ? key : shownKey(key)
  return typeof shown === 'string'
    ? { [field]: shown }
    : { [`${field}Base64`]: Buffer.from(shown).toString('base64') }
}

const withContextJson = <T extends { readonly context?: string | Uint8Array | undefined }>({
  context,
  ...rest
}: T): object => ({ ...rest, ...contextJson(context ?? null) })

const defined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

export class TooSlow extends Error {
  constructor() {
    super('The whole request did not arrive in time.')
  }
}

export function errorReply(error: unknown): Reply {
  if (error instanceof TooSlow) return problem(408, 'BAD_REQUEST', error.message)
  if (error instanceof TypeError) return problem(400, 'BAD_REQUEST', error.message)
  if (!(error instanceof LatchkeyError)) {
    return problem(500, 'INTERNAL', 'This member failed to serve the call; its log says why.', {
      outcome: 'unknown',
    })
  }
  const status = STATUS[error.code]
  const headers: Record<string, string> = {}
  if (status === 503 || status === 429) headers['retry-after'] = RETRY_AFTER
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="latchkey"'
  return problem(status, error.code, error.message, {
    retryable: error.retryable,
    outcome: error.outcome,
    headers,
    fields: fieldsOf(error),
  })
}
