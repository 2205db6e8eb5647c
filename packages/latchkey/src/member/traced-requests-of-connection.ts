// Rule: keeps the traced requests of one client connection until the member has answered these requests.

import { type AnswerReply, CAPS, type LinkRequest, operationName } from '@latchkey/protocol'
import { errorCodeIn } from './call-counters.js'
import type { RequestTrace, RequestTracer } from './request-tracer.js'

export class ConnectionTraces {
  readonly #tracer: RequestTracer | undefined
  readonly #role: () => string
  readonly #open = new Map<number, RequestTrace>()

  constructor(tracer: RequestTracer | undefined, role: () => string) {
    this.#tracer = tracer
    this.#role = role
  }

  get size(): number {
    return this.#open.size
  }

  /** If this member makes a span for the request, the returned request names that span as its parent. */
  begin(request: LinkRequest): LinkRequest {
    if (!('trace' in request) || request.trace === undefined) return request
    if (this.#open.size >= CAPS.tracedRequestsOfOne || this.#open.has(request.id)) return request
    const trace = this.#tracer?.request(operationName(request), request.trace, this.#role())
    if (trace === undefined) return request
    this.#open.set(request.id, trace)
    return { ...request, trace: trace.traceparent }
  }

  end({ id, answer }: AnswerReply): void {
    const trace = this.#open.get(id)
    if (trace === undefined) return
    this.#open.delete(id)
    trace.end(errorCodeIn(answer))
  }

  /** The open requests end with ERR_CLOSED, because the connection has closed. */
  close(): void {
    for (const trace of this.#open.values()) trace.end('ERR_CLOSED')
    this.#open.clear()
  }
}
