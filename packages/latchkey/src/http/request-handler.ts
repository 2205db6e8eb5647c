// Driver: owns each HTTP request from its first byte to its answer: finds the route, checks rights, reads the
// body with a limit, and answers exactly once. The routes behind it take a Call and return a Reply.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLatchkeyError, LatchkeyError } from '@latchkey/protocol'
import { readBody } from './body.js'
import { errorReply, problem } from './errors.js'
import type { Identity, Right } from '../member/rights.js'
import { callerOf, pageHeaders, refuseOrigin, rightFor } from './request-guards.js'
import { serveKv } from './kv.js'
import { LockDoor } from './locks.js'
import { callOptions, refuseUnknownQuery } from './request-options.js'
import type { Call, HttpPorts, Reply } from './http-ports.js'
import { METHODS, type Route, routeOf } from './routes.js'

export class HttpDoor {
  readonly #ports: HttpPorts
  readonly #locks = new LockDoor()
  readonly #calls = new Set<CallEnd>()
  #stopping = false
  /** The reason with which waiting calls end when the server stops. */
  #stopped: LatchkeyError | undefined
  #idle: () => void = () => {}

  constructor(ports: HttpPorts) {
    this.#ports = ports
  }

  /** Calls that have not been answered yet. */
  get busy(): number {
    return this.#calls.size
  }

  /** Resolves when the answer is written; its caller must catch what it throws. */
  readonly handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const started = this.#ports.clock.now()
    const end = new CallEnd()
    this.#calls.add(end)
    if (this.#stopped !== undefined) end.end(this.#stopped)
    // The call counts until its last byte is written or the caller has disconnected: only then may its
    // connection be closed.
    response.once('close', () => {
      if (!response.writableFinished) end.end(new Error('the caller has gone'))
      if (this.#calls.delete(end) && this.#calls.size === 0) this.#idle()
    })
    const { name, reply } = await this.#answer(request, end)
    this.#ports.observe(name, reply.status, this.#ports.clock.now() - started)
    write(request, response, withPage(this.#ports, request, reply), this.#stopping)
    this.#ports.wrote(response)
  }

  /**
   * New calls are still answered. Resolves when no call is left, and ends waiting calls after `patience` ms.
   */
  async drain(patience: number): Promise<void> {
    this.#stopping = true
    if (this.#calls.size === 0) return
    const drained = new Promise<void>((resolve) => (this.#idle = resolve))
    const timer = this.#ports.clock.after(patience, () => this.#endAll())
    await drained
    timer.cancel()
  }

  #endAll(): void {
    this.#stopped = new LatchkeyError('ERR_CLOSED')
    for (const call of this.#calls) call.end(this.#stopped)
  }

  async #answer(request: IncomingMessage, end: CallEnd): Promise<{ name: string; reply: Reply }> {
    let name = 'unknown'
    try {
      const { path, query } = split(request.url ?? '/')
      const method = request.method ?? 'GET'
      const route = routeOf(path, meant(request, method))
      if (route === undefined)
        return { name, reply: problem(404, 'NOT_FOUND', 'There is nothing under this path.') }
      name = route.name === 'lock' && route.verb ? 'lock verb' : route.name
      const early = refuse(this.#ports, request, route, method, name)
      if (early) return { name, reply: early }
      const right = rightFor(route, method)
      if (right === undefined) return { name, reply: this.#probe(route) }
      const caller = admitted(this.#ports, request, right)
      if ('status' in caller) return { name, reply: caller }
      const call: Call = {
        by: this.#ports.actAs(caller),
        method,
        headers: request.headers,
        query,
        signal: end.signal,
        body: (most) => readBody(request, most, this.#ports.bodies),
      }
      // Probes and scrapers may add any query to their path.
      if (route.name === 'kv' || route.name === 'lock')
        refuseUnknownQuery(query, route.name === 'kv' && method === 'PUT')
      return { name, reply: await this.#serve(route, call) }
    } catch (error) {
      const reply = errorReply(this.#reasonOf(error))
      // It is no fault of this member that the caller has disconnected.
      if (!isLatchkeyError(error) && reply.status === 500 && !end.signal.aborted) this.#ports.failed(error)
      return { name, reply }
    }
  }

  /**
   * A read that was not confirmed in time because there was no leader is answered as that: a retry helps, a
   * longer timeout does not.
   */
  #reasonOf(error: unknown): unknown {
    const leaderless = isLatchkeyError(error, 'ERR_TIMEOUT') && !this.#ports.isReady()
    return leaderless ? new LatchkeyError('ERR_NO_LEADER', undefined, { cause: error }) : error
  }

  #serve(route: Route, call: Call): Promise<Reply> | Reply {
    switch (route.name) {
      case 'livez':
      case 'readyz':
        return this.#probe(route)
      case 'metrics':
        return this.#metrics()
      case 'status':
        return status(call)
      case 'kv':
        return serveKv(route.key, call)
      case 'lock':
        return this.#locks.serve(route.key, route.verb, call)
    }
  }

  /** Probes carry no token. */
  #probe({ name }: Route): Reply {
    return name === 'readyz' ? this.#readiness() : { status: 200, body: 'ok\n' }
  }

  #readiness(): Reply {
    if (this.#stopping) return problem(503, 'STOPPING', 'This member is stopping.', LATER)
    if (this.#ports.isReady()) {
      const warning = this.#ports.warning?.()
      return { status: 200, body: warning === undefined ? 'ok\n' : `ok, but: ${warning}\n` }
    }
    const why = this.#ports.whyNotReady?.() ?? 'No leader is known, or this member has not caught up yet.'
    return problem(503, 'NOT_READY', why, LATER)
  }

  async #metrics(): Promise<Reply> {
    const { type, text } = await this.#ports.metrics()
    return { status: 200, headers: { 'content-type': type }, body: text }
  }
}

/**
 * Ends a call before it is answered. Most calls are answered without it, so the AbortSignal is created when
 * it is first used.
 */
class CallEnd {
  #reason: Error | undefined
  #controller: AbortController | undefined

  end(reason: Error): void {
    this.#reason ??= reason
    this.#controller?.abort(this.#reason)
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }
}

const status = async (call: Call): Promise<Reply> => ({
  status: 200,
  body: await call.by.status(callOptions(call)),
})

const LATER = { retryable: true, headers: { 'retry-after': '1' } }

/** 'http://host/path' means the same as '/path': every server must accept both. */
function split(given: string): { path: string; query: URLSearchParams } {
  const url = given.replace(/^https?:\/\/[^/?]*/i, '')
  const at = url.indexOf('?')
  return at < 0
    ? { path: url, query: new URLSearchParams() }
    : { path: url.slice(0, at), query: new URLSearchParams(url.slice(at + 1)) }
}

function refuse(
  ports: HttpPorts,
  request: IncomingMessage,
  route: Route,
  method: string,
  name: string,
): Reply | null {
  const strange = refuseOrigin(ports, request.headers.origin, request.headers.host)
  if (strange) {
    ports.refused('origin', strange.message)
    return errorReply(strange)
  }
  const allowed = METHODS[name] ?? []
  if (!allowed.includes(method)) {
    const headers = { allow: allowed.join(', ') }
    if (method === 'OPTIONS') return { status: 204, headers }
    return problem(405, 'METHOD_NOT_ALLOWED', wrongMethod(route, method, allowed), { headers })
  }
  return null
}

/**
 * The identity of the caller, which takes one of the places for clients, or the reason why it may not call. A
 * probe takes no place.
 */
function admitted(ports: HttpPorts, request: IncomingMessage, right: Right): Identity | Reply {
  const caller = callerOf(ports, request, right)
  if (!(caller instanceof LatchkeyError)) return ports.hasPlace(request) ? caller : errorReply(noPlace())
  ports.refused(caller.code === 'ERR_FORBIDDEN' ? 'forbidden' : 'unauthorized', caller.message)
  return errorReply(caller)
}

const noPlace = () =>
  new LatchkeyError(
    'ERR_BUSY',
    'This member has as many connections of clients, or of clients of your address, as it may. Close some, ask another member, or raise --max-connections.',
  )

/** A browser sends OPTIONS before it sends the method that it names there. */
function meant({ headers }: IncomingMessage, method: string): string {
  return method === 'OPTIONS' ? (headers['access-control-request-method'] ?? method) : method
}

function wrongMethod(route: Route, method: string, allowed: readonly string[]): string {
  if (route.name === 'lock' && method === 'POST')
    return 'A POST to a lock needs a verb behind the key: :acquire, :renew or :release.'
  return `${method} is not for this path; here one can ${allowed.join(', ')}.`
}

/** A page of an allowed origin may read its answer, also a refusal. */
function withPage(ports: HttpPorts, request: IncomingMessage, reply: Reply): Reply {
  const more = pageHeaders(ports, request.method ?? 'GET', request.headers, reply.headers?.allow)
  return more === undefined ? reply : { ...reply, headers: { ...reply.headers, ...more } }
}

function write(request: IncomingMessage, response: ServerResponse, reply: Reply, closing: boolean): void {
  if (response.destroyed) return
  const { type, bytes } = encoded(reply.body)
  const headers: Record<string, string> = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
  if (type) headers['content-type'] = type
  // The rest of an unread body is not read only to use the connection again.
  if (closing || !request.complete) headers.connection = 'close'
  if (reply.status !== 204 && reply.status !== 304) headers['content-length'] = String(bytes.length)
  response.writeHead(reply.status, { ...headers, ...reply.headers })
  response.end(request.method === 'HEAD' ? undefined : bytes)
}

function encoded(body: Reply['body']): { type: string | undefined; bytes: Uint8Array } {
  if (body === undefined) return { type: undefined, bytes: new Uint8Array(0) }
  if (body instanceof Uint8Array) return { type: 'application/octet-stream', bytes: body }
  if (typeof body === 'string') return { type: 'text/plain; charset=utf-8', bytes: Buffer.from(body) }
  return { type: 'application/json', bytes: Buffer.from(`${JSON.stringify(body)}\n`) }
}
