// Driver: owns each HTTP request from its head to the end of its answer. This file finds the route, checks
// the rights, reads the body up to a limit, and answers exactly once. The handler of the route gets a Call
// and returns a Reply.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { ERRORS, isLatchkeyError, LatchkeyError } from '@latchkey/protocol'
import type { Identity } from '../member/identity-and-rights.js'
import { PROBLEM_TYPE, problemJson } from '../open/problem-json.js'
import { writeStream } from './answer-stream.js'
import { readBody } from './read-body.js'
import { errorReply, problem } from './http-status-of-errors.js'
import { handlers, type Handler } from './handler-of-route.js'
import { refuseIdempotencyKey } from './idempotency-key-header.js'
import type { Call, HttpPorts, Reply } from './http-route-dependencies.js'
import { LockRoutes } from './lock-semaphore-election-routes.js'
import {
  callerOf,
  isOwnPage,
  type NeededRight,
  pageHeaders,
  refuseOrigin,
} from './check-identity-origin-and-host.js'
import { pageReply } from './web-console-files.js'
import { refuseUnknownQuery } from './request-headers-and-query.js'
import { routeAt, type RouteId } from './route-table.js'
import { nearestPath, nearestVerb, type Place, placeOf } from './route-of-path.js'

interface Answered {
  readonly name: string
  readonly reply: Reply
}

export class HttpRequestHandler {
  readonly #ports: HttpPorts
  readonly #handlers: Readonly<Record<RouteId, Handler>>
  readonly #calls = new Set<CallEnd>()
  #stopping = false
  #stopped: LatchkeyError | undefined
  #idle: () => void = () => {}

  constructor(ports: HttpPorts) {
    this.#ports = ports
    this.#handlers = {
      ...handlers(new LockRoutes()),
      livez: async () => ({ status: 200, body: 'ok\n' }),
      readyz: async () => this.#readiness(),
      metrics: () => this.#metrics(),
      page: async (call) => pageReply(this.#ports, call, ''),
      pageFile: async (call, name) => pageReply(this.#ports, call, Buffer.from(name).toString()),
    }
  }

  get busy(): number {
    return this.#calls.size
  }

  readonly handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const started = this.#ports.clock.now()
    const end = new CallEnd()
    this.#calls.add(end)
    if (this.#stopped !== undefined) end.end(this.#stopped)
    // A call is in progress until its last byte is written or the caller has disconnected. A graceful stop
    // waits for calls in progress before it closes connections.
    response.once('close', () => {
      if (!response.writableFinished) end.end(new Error('the caller has gone'))
      if (this.#calls.delete(end) && this.#calls.size === 0) this.#idle()
    })
    const { name, reply } = await this.#traced(request, end)
    this.#ports.observe(name, reply.status, this.#ports.clock.now() - started)
    write(request, response, withPage(this.#ports, request, reply), this.#stopping)
    this.#ports.wrote(response)
    if (reply.stream !== undefined) await this.#stream(reply.stream, response, end)
  }

  async #stream(stream: NonNullable<Reply['stream']>, response: ServerResponse, end: CallEnd): Promise<void> {
    end.isEndless = stream.isEndless
    if (this.#stopping && stream.isEndless) end.end(new LatchkeyError('ERR_CLOSED'))
    const ports = {
      clock: this.#ports.clock,
      signal: end.signal,
      wrote: (to: ServerResponse) => this.#ports.wrote(to),
    }
    await writeStream(stream, response, ports).catch((error: unknown) => {
      // A LatchkeyError is an expected failure of the call, and is not logged. Any other error is a bug.
      if (!isLatchkeyError(error) && !end.signal.aborted) this.#ports.failed(error)
    })
  }

  /**
   * Waits until no call is in progress. New calls are still answered. Endless answers, such as watches, end
   * immediately. Other open calls end with ERR_CLOSED after `patience` ms.
   */
  async drain(patience: number): Promise<void> {
    this.#stopping = true
    for (const call of this.#calls) if (call.isEndless) call.end(new LatchkeyError('ERR_CLOSED'))
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

  /** If the caller sent a traceparent, the span of the request belongs to the caller's trace. */
  async #traced(request: IncomingMessage, end: CallEnd): Promise<Answered> {
    const { method = 'GET', headers, url = '/' } = request
    const trace = this.#ports.tracer?.httpCall(method, headers.traceparent)
    if (trace === undefined) return this.#answer(request, end)
    const answered = await trace.run(() => this.#answer(request, end))
    trace.endHttp(method, pathOfRoute(url, method), answered.reply.status)
    return answered
  }

  async #answer(request: IncomingMessage, end: CallEnd): Promise<Answered> {
    let name = 'unknown'
    try {
      const { path, query, rawQuery } = split(request.url ?? '/')
      const method = request.method ?? 'GET'
      const place = placeOf(path, meant(request, method))
      if (place === undefined) return { name, reply: nothingThere(path) }
      name = figureOf(place, method)
      const early = refuse(this.#ports, request, place, method, path)
      if (early) return { name, reply: early }
      const id = place.routes[method] as RouteId
      const route = routeAt(id)
      const caller = route.right === undefined ? undefined : admitted(this.#ports, request, route.right)
      if (caller !== undefined && 'status' in caller) return { name, reply: caller }
      refuseUnknownQuery(route, query)
      const ports = this.#ports
      const call: Call = {
        // `by` is a getter, because `actAs` needs an identity and a health probe has none.
        get by() {
          return ports.actAs(caller as Identity)
        },
        caller: caller?.name ?? '',
        who: caller,
        route,
        method,
        headers: request.headers,
        query,
        rawQuery,
        get signal() {
          return end.signal
        },
        body: (most) => readBody(request, most, ports.bodies),
      }
      refuseIdempotencyKey(call, route.ifRepeated)
      return { name, reply: await this.#handlers[id](call, place.key) }
    } catch (error) {
      const reply = errorReply(this.#reasonOf(error))
      // An error after the caller has disconnected is not a bug, so the member does not log the error.
      if (!isLatchkeyError(error) && reply.status === 500 && !end.signal.aborted) this.#ports.failed(error)
      return { name, reply }
    }
  }

  /**
   * If a read timed out because the cluster has no leader, the error becomes ERR_NO_LEADER. The caller then
   * knows that a retry helps and a longer timeout does not.
   */
  #reasonOf(error: unknown): unknown {
    if (!isLatchkeyError(error, 'ERR_TIMEOUT') || this.#ports.isReady()) return error
    const { missing, leader } = error
    const why = this.#ports.whyNotReady?.()
    const message = why === undefined ? undefined : `${ERRORS.ERR_NO_LEADER.message} ${why}`
    return new LatchkeyError('ERR_NO_LEADER', message, { cause: error, missing, leader })
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

/** Most calls never use the AbortSignal, so it is created at its first use. */
class CallEnd {
  #reason: Error | undefined
  isEndless = false
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

const figureOf = ({ routes, methods }: Place, method: string): string => {
  const id = routes[method] ?? routes[methods[0] as string]
  return id === undefined ? 'unknown' : routeAt(id).figure
}

/**
 * The name of a span, for example /v1/kv/{key}. The request's own path would make a new span name for each
 * key.
 */
function pathOfRoute(url: string, method: string): string {
  try {
    return placeOf(split(url).path, method)?.path ?? 'unknown'
  } catch {
    return 'unknown'
  }
}

const nothingThere = (path: string): Reply => {
  const hint = nearestPath(path)
  return problem(404, 'NOT_FOUND', `There is nothing under this path${hint === '' ? '.' : hint}`)
}

const LATER = { retryable: true, headers: { 'retry-after': '1' } }

/**
 * Clients of proxies send 'http://host/path' in place of '/path', and an HTTP server must accept this form.
 */
function split(given: string): { path: string; query: URLSearchParams; rawQuery: string } {
  const url = given.replace(/^https?:\/\/[^/?]*/i, '')
  const at = url.indexOf('?')
  const rawQuery = at < 0 ? '' : url.slice(at + 1)
  return { path: at < 0 ? url : url.slice(0, at), query: new URLSearchParams(rawQuery), rawQuery }
}

function refuse(
  ports: HttpPorts,
  request: IncomingMessage,
  place: Place,
  method: string,
  path: string,
): Reply | null {
  if (request.httpVersion === '1.1' && request.headers.host === undefined)
    return problem(400, 'BAD_REQUEST', 'A request of HTTP/1.1 needs a Host.')
  const origin = isOwnPage(request.headers) ? undefined : request.headers.origin
  const strange = refuseOrigin(ports, origin, request.headers.host)
  if (strange) {
    ports.refused('origin', strange.message)
    return errorReply(strange)
  }
  const allowed = place.methods
  if (!allowed.includes(method)) {
    const headers = { allow: allowed.join(', ') }
    if (method === 'OPTIONS') return { status: 204, headers }
    return problem(405, 'METHOD_NOT_ALLOWED', wrongMethod(place, method, path), { headers })
  }
  return null
}

/**
 * Returns the identity of the caller, or the answer that refuses the caller. An accepted caller counts as a
 * client. This function is not called for health probes.
 */
function admitted(ports: HttpPorts, request: IncomingMessage, right: NeededRight): Identity | Reply {
  const caller = callerOf(ports, request, right)
  if (!(caller instanceof LatchkeyError))
    return ports.admitClient(request) ? caller : errorReply(tooManyClients())
  ports.refused(caller.code === 'ERR_FORBIDDEN' ? 'forbidden' : 'unauthorized', caller.message)
  return errorReply(caller)
}

const tooManyClients = () =>
  new LatchkeyError(
    'ERR_BUSY',
    'This member has reached its limit of client connections, or the limit for your address. Close some connections, use another member, or raise --max-connections.',
  )

/**
 * Returns the method of the request that the caller wants to make. Before a request to another site, a
 * browser sends OPTIONS, with the method of the later request in a header.
 */
function meant({ headers }: IncomingMessage, method: string): string {
  return method === 'OPTIONS' ? (headers['access-control-request-method'] ?? method) : method
}

function wrongMethod(place: Place, method: string, path: string): string {
  if (method === 'POST' && place.path.endsWith('}'))
    return `A POST needs a verb after the key${nearestVerb(place, path)}`
  return `This path does not allow ${method}; it allows ${place.methods.join(', ')}.`
}

/** The CORS headers let a page of an allowed origin read a refusal too. */
function withPage(ports: HttpPorts, request: IncomingMessage, reply: Reply): Reply {
  const more = pageHeaders(ports, request.method ?? 'GET', request.headers, reply.headers?.allow)
  return more === undefined ? reply : { ...reply, headers: { ...reply.headers, ...more } }
}

function write(request: IncomingMessage, response: ServerResponse, reply: Reply, closing: boolean): void {
  if (response.destroyed) return
  const { status, stream } = reply
  const { type, bytes } = encoded(status, reply.body)
  const headers: Record<string, string> = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
  if (type) headers['content-type'] = type
  // If the body of the request was not read, the connection closes. Otherwise the member would have to read
  // the rest of the body.
  if (closing || !request.complete) headers.connection = 'close'
  if (stream === undefined && status !== 204 && status !== 304)
    headers['content-length'] = String(bytes.length)
  response.writeHead(status, { ...headers, ...reply.headers })
  if (stream !== undefined) response.flushHeaders()
  else response.end(request.method === 'HEAD' ? undefined : bytes)
}

function encoded(status: number, body: Reply['body']): { type: string | undefined; bytes: Uint8Array } {
  if (body === undefined) return { type: undefined, bytes: new Uint8Array(0) }
  if (body instanceof Uint8Array) return { type: 'application/octet-stream', bytes: body }
  if (typeof body === 'string') return { type: 'text/plain; charset=utf-8', bytes: Buffer.from(body) }
  const isProblem = status >= 400
  const json = isProblem ? problemJson(status, body) : body
  const type = isProblem ? PROBLEM_TYPE : 'application/json'
  return { type, bytes: Buffer.from(`${JSON.stringify(json)}\n`) }
}
