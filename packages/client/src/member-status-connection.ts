// Driver: owns one connection to one member, for the request of that member's own status.
//
// Law: the member at this address answers, and no other member. A store cannot make this request, because a
// store prefers the leader and may leave the given member. Without this law: an operator asks the address of
// b, gets the answer of the leader a, and believes that b runs.

import { uptime } from 'node:os'
import { systemClock, type Timer } from '@latchkey/base'
import {
  type AdminCall,
  decodeAnswer,
  errorOf,
  isError,
  LatchkeyError,
  type LinkReply,
  type Status,
} from '@latchkey/protocol'
import { type ConnectOptions, checkConnect } from './connect-options.js'
import type { Link } from './link-interface.js'
import { toStatus } from './store/cluster-calls.js'
import { socketDial } from './websocket-link.js'

type Waiting = { resolve(result: unknown): void; reject(error: unknown): void }

/** In ms: how long a request waits for its answer. */
const ANSWER_MS = 5_000

export interface MemberConnection {
  /** Rejects with ERR_NO_LEADER if the connection ends, and with ERR_TIMEOUT if the member sends nothing. */
  status(): Promise<Status>
  close(): void
}

/** Rejects if no member serves this client at this address. The error gives the reason. */
export async function connectToMember(url: string, options?: ConnectOptions): Promise<MemberConnection> {
  const { cluster, clusterId, token, tls, timeout, signal } = checkConnect(url, options)
  const clock = systemClock(uptime)
  const dial = socketDial(url, { clock, cluster, token, tls, identity: { clusterId } })
  const ending = new AbortController()
  const abort = () => ending.abort(new LatchkeyError('ERR_ABORTED', undefined, { cause: signal?.reason }))
  const timer = clock.after(timeout, () => ending.abort(silent(url)))
  if (signal?.aborted === true) abort()
  else signal?.addEventListener('abort', abort, { once: true })
  const connection = new StatusConnection(url, clock.after.bind(clock))
  try {
    connection.opened(await dial(connection, ending.signal))
    return connection
  } finally {
    timer.cancel()
    signal?.removeEventListener('abort', abort)
  }
}

class StatusConnection implements MemberConnection {
  readonly #url: string
  readonly #after: (ms: number, run: () => void) => Timer
  readonly #waiting = new Map<number, Waiting>()
  #link: Link | undefined
  #reason: Error | undefined
  #lastId = 0

  constructor(url: string, after: (ms: number, run: () => void) => Timer) {
    this.#url = url
    this.#after = after
  }

  opened(link: Link): void {
    this.#link = link
  }

  async status(): Promise<Status> {
    return toStatus(await this.#ask('status'))
  }

  #ask(call: AdminCall): Promise<unknown> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      if (this.#reason !== undefined) return reject(this.#reason)
      const timer = this.#after(ANSWER_MS, () => {
        if (this.#waiting.delete(id)) reject(silent(this.#url))
      })
      const settle =
        <T>(run: (value: T) => void) =>
        (value: T) => {
          timer.cancel()
          run(value)
        }
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) })
      this.#link?.send({ kind: 'admin', id, call, args: [] })
    })
  }

  reply(reply: LinkReply): void {
    if (reply.kind !== 'answer') return
    const waiting = this.#waiting.get(reply.id)
    if (waiting === undefined) return
    this.#waiting.delete(reply.id)
    const answer = reply.answer instanceof Uint8Array ? decodeAnswer(reply.answer) : reply.answer
    if (isError(answer)) waiting.reject(errorOf(answer))
    else waiting.resolve(answer[1])
  }

  closed(reason: Error): void {
    this.#reason ??= reason
    for (const waiting of this.#waiting.values()) waiting.reject(reason)
    this.#waiting.clear()
  }

  memberRemoved(): void {}

  close(): void {
    this.#link?.close()
    this.closed(new LatchkeyError('ERR_CLOSED'))
  }
}

const silent = (url: string): LatchkeyError =>
  new LatchkeyError('ERR_TIMEOUT', `${url} did not answer in time. Look at the log of that member.`)
