// Rule: a trivial state machine with sessions that store the answers to their calls (docs/locks.md, 6), for
// tests of the engine.

import { equalBytes, text } from '@latchkey/base'
import {
  type Answer,
  type Command,
  type EventResult,
  OP,
  SESSION_OVER_ANSWER,
  decodeCommand,
  errorAnswer,
  isBadCommand,
  okAnswer,
} from '@latchkey/protocol'

interface Session {
  readonly life: number
  deadline: number
  done: number
  readonly kept: Map<number, { readonly body: Uint8Array | undefined; readonly answer: Answer }>
}

interface Applied {
  readonly answer: Answer
  readonly fromTable: boolean
}

export class Machine {
  readonly data = new Map<string, string>()
  readonly events: EventResult[] = []
  readonly sessions = new Map<number, Session>()
  revision = 0
  index = 0
  /** Cluster time. */
  time = 0
  /** The largest number of answers that one session has stored at the same time. */
  most = 0

  apply(session: number, number: number, done: number, body: Uint8Array, now: number): Applied {
    this.time = Math.max(this.time, now)
    this.index++
    for (const [id, { deadline }] of this.sessions) if (this.time > deadline) this.sessions.delete(id)
    const command = decodeCommand(body)
    if (isBadCommand(command)) return fresh(errorAnswer('ERR_PROTOCOL', command.reason))
    if (session === 0) return fresh(this.#open(command))
    const known = this.sessions.get(session)
    if (!known) return fresh(SESSION_OVER_ANSWER)
    return this.#inSession(known, number, done, body, command)
  }

  #open(command: Command): Answer {
    if (command[0] !== OP.openSession) return errorAnswer('ERR_PROTOCOL', 'needs a session')
    const life = command[1]
    this.sessions.set(this.index, { life, deadline: this.time + life, done: 1, kept: new Map() })
    return okAnswer(this.index)
  }

  #inSession(session: Session, number: number, done: number, body: Uint8Array, command: Command): Applied {
    session.deadline = this.time + session.life
    session.done = Math.max(session.done, done)
    for (const kept of session.kept.keys()) if (kept < session.done) session.kept.delete(kept)
    if (number === 0) return fresh(this.#unnumbered(session, command))
    if (number < session.done) return fresh(errorAnswer('ERR_PROTOCOL', 'finished'))
    const kept = session.kept.get(number)
    if (kept?.body && !equalBytes(kept.body, body)) return fresh(errorAnswer('ERR_PROTOCOL', 'another body'))
    if (kept) return { answer: kept.answer, fromTable: true }
    const answer = this.#execute(command)
    session.kept.set(number, { body, answer })
    this.most = Math.max(this.most, session.kept.size)
    return fresh(answer)
  }

  #unnumbered(session: Session, command: Command): Answer {
    if (command[0] === OP.keepAlive) return okAnswer(true)
    if (command[0] === OP.closeSession) {
      for (const [id, other] of this.sessions) if (other === session) this.sessions.delete(id)
      return okAnswer(true)
    }
    if (command[0] !== OP.cancelCall) return errorAnswer('ERR_PROTOCOL', 'needs a number')
    const [, number] = command
    if (number < session.done || session.kept.has(number)) return okAnswer(false)
    session.kept.set(number, { body: undefined, answer: errorAnswer('ERR_ABORTED') })
    return okAnswer(true)
  }

  #execute(command: Command): Answer {
    switch (command[0]) {
      case OP.put:
        return this.#write(text(command[2]), command[2], command[3], text(command[3]))
      case OP.merge: {
        const before = this.data.get(text(command[2]))
        const value = before === undefined ? text(command[3]) : `${before},${text(command[3])}`
        return this.#write(text(command[2]), command[2], command[3], value)
      }
      case OP.compareAndPutAll:
        return errorAnswer('ERR_FENCED')
      default:
        return okAnswer(true)
    }
  }

  #write(key: string, keyBytes: Uint8Array, valueBytes: Uint8Array, value: string): Answer {
    this.data.set(key, value)
    this.events.push([++this.revision, 0, keyBytes.slice(), valueBytes.slice(), null])
    return okAnswer(this.revision)
  }
}

const fresh = (answer: Answer): Applied => ({ answer, fromTable: false })
