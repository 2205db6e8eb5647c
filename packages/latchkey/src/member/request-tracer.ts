// Driver: follows the traced requests of one member from their arrival to their answer. Each of these
// requests has a line in the log, and a span if an OpenTelemetry SDK is registered.
//
// Law (OB3): the traces of a stranger have a bounded cost. Each trace id is checked as a whole when it
// arrives. At most CAPS.tracedRequests are followed at the same time, and a further request is served without
// a span and without a line. Warnings are limited in number. Without this law: a client names a new trace in
// each of a million requests that wait, and the member keeps all these traces.

import { type Clock, LimitedLines, type Logger } from '@latchkey/base'
import type { OpenTelemetry, Span, SpanTerms } from '@latchkey/client'
import { CAPS, isTraceparent, toTraceIds } from '@latchkey/protocol'

/** In ms. The log line of a request that takes longer than this is a warning. */
const SLOW_MS = 1_000
const WARNINGS = { most: 20, every: 10_000 }

export interface RequestTracerPorts {
  readonly clock: Pick<Clock, 'now'>
  readonly logger: Logger
  readonly openTelemetry: OpenTelemetry
  /** The member, and its cluster. */
  readonly id: string
  readonly cluster: string
}

export class RequestTracer {
  readonly #ports: RequestTracerPorts
  readonly #warnings = new LimitedLines(WARNINGS)
  #open = 0

  constructor(ports: RequestTracerPorts) {
    this.#ports = ports
  }

  /** The requests that are followed now. */
  get open(): number {
    return this.#open
  }

  /**
   * Begins to follow a request of a client, or a request that a follower has forwarded. Returns undefined if
   * the request is not followed.
   */
  request(operation: string, parent: string, role: string, from?: string): RequestTrace | undefined {
    const { id, cluster } = this.#ports
    const attributes = {
      'db.system.name': 'latchkey',
      'db.namespace': cluster,
      'db.operation.name': operation,
      'latchkey.member.id': id,
      'latchkey.member.role': role,
      ...(from === undefined ? {} : { 'latchkey.forwarded_by': from }),
    }
    return this.#begin(operation, parent, {
      name: `${operation} ${cluster}`,
      kind: 'server',
      attributes,
      parent,
    })
  }

  /**
   * Begins to follow an HTTP call, if the call names a trace. If an instrumentation of node:http has begun a
   * span for the call, that span is used, and this member writes only the log line of the call.
   */
  httpCall(method: string, parent: unknown): RequestTrace | undefined {
    if (!isTraceparent(parent)) return undefined
    const { id, openTelemetry } = this.#ports
    if (openTelemetry.isInSpan) return this.#begin(method, parent, undefined)
    const attributes = { 'http.request.method': method, 'latchkey.member.id': id }
    return this.#begin(method, parent, { name: method, kind: 'server', attributes, parent })
  }

  /** `terms` is undefined if no span is wanted. */
  #begin(operation: string, parent: string, terms: SpanTerms | undefined): RequestTrace | undefined {
    if (this.#open >= CAPS.tracedRequests) return undefined
    const { openTelemetry, clock } = this.#ports
    const span = terms === undefined ? undefined : openTelemetry.start(terms)
    const traceparent = span?.traceparent ?? parent
    this.#open++
    const began = clock.now()
    return new RequestTrace(traceparent, span, (code, name = operation) => {
      this.#open--
      this.#tell(traceparent, name, clock.now() - began, code)
    })
  }

  #tell(traceparent: string, operation: string, millis: number, code: string | undefined): void {
    const ids = toTraceIds(traceparent)
    const { clock, logger } = this.#ports
    const line = {
      trace_id: ids?.traceId,
      span_id: ids?.spanId,
      operation,
      millis: Math.round(millis),
      ...(code === undefined ? {} : { code }),
    }
    if (millis < SLOW_MS) return logger.debug('a traced request was answered', line)
    const times = this.#warnings.note('slow', clock.now())
    if (times !== undefined) logger.warn('a traced request took long', times > 1 ? { ...line, times } : line)
  }
}

/** One request that is followed. The request ends once. */
export class RequestTrace {
  /**
   * The traceparent of the member's own span. Without an OpenTelemetry SDK, it is the traceparent of the
   * caller.
   */
  readonly traceparent: string
  readonly #span: Span | undefined
  readonly #ended: (code: string | undefined, name?: string) => void

  constructor(traceparent: string, span: Span | undefined, ended: RequestTrace['end']) {
    this.traceparent = traceparent
    this.#span = span
    this.#ended = ended
  }

  run<T>(work: () => T): T {
    return this.#span === undefined ? work() : this.#span.run(work)
  }

  /** `code` is the code of the error, or undefined if the answer is no error. */
  end(code: string | undefined): void {
    this.#span?.end(code === undefined ? {} : { 'db.response.status_code': code }, code)
    this.#ended(code)
  }

  /** `route` is a path of the table of routes. */
  endHttp(method: string, route: string, status: number): void {
    const name = `${method} ${route}`
    this.#span?.rename(name)
    // Only the answers from status 500 on are errors of the server itself.
    const code = status >= 500 ? String(status) : undefined
    this.#span?.end({ 'http.route': route, 'http.response.status_code': status }, code)
    this.#ended(code, name)
  }
}
