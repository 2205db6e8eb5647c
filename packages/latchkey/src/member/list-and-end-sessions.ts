// Driver: the admin calls that list the sessions and end one session. The calls themselves need no session,
// so they work even if the limit of sessions is reached.

import { type KvStore, RecordSource } from '@latchkey/kv'
import {
  CAPS,
  decodeAnswer,
  encodeCommand,
  errorOf,
  isError,
  LatchkeyError,
  OP,
  type SessionResult,
} from '@latchkey/protocol'
import type { Outcome, RaftNode } from '@latchkey/raft'

export function listSessions(node: RaftNode, kv: KvStore): Promise<SessionResult[]> {
  return new Promise((resolve, reject) => {
    node.read((outcome) => {
      if (!outcome.ok) return reject(new LatchkeyError('ERR_NO_LEADER'))
      try {
        resolve(kv.openSessions.list())
      } catch (error) {
        reject(error)
      }
    })
  })
}

export function endSession(node: RaftNode, given: unknown): Promise<unknown> {
  const id = typeof given === 'string' && /^[1-9][0-9]{0,15}$/.test(given) ? Number(given) : 0
  if (id < 1 || id > CAPS.recordNumber)
    return Promise.reject(new LatchkeyError('ERR_PROTOCOL', 'A session is ended by its number.'))
  const body = encodeCommand([OP.endSession, id])
  const record = new RecordSource().of({ session: 0, number: 0, done: 0, body })
  return new Promise((resolve, reject) => {
    node.submit(record, (outcome) => settle(outcome, resolve, reject), true)
  })
}

function settle(outcome: Outcome, resolve: (result: unknown) => void, reject: (error: unknown) => void) {
  if (outcome.type === 'unknown') return reject(new LatchkeyError('ERR_OUTCOME_UNKNOWN'))
  if (outcome.type === 'refused')
    return reject(new LatchkeyError(outcome.reason === 'busy' ? 'ERR_BUSY' : 'ERR_NO_LEADER'))
  const answer = decodeAnswer(outcome.answer.bytes)
  if (isError(answer)) reject(errorOf(answer))
  else resolve(answer[1])
}
