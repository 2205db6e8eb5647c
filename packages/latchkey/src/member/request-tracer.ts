// Driver: follows the traced requests of one member, from their arrival to their answer. The member logs one
// line for each traced request, and makes a span if an OpenTelemetry SDK is registered.
//
// Law (OB3): requests with made-up trace ids cost a limited amount of memory. The member checks the form of
// each traceparent when it arrives, and follows at most CAPS.tracedRequests requests at the same time.
// Further requests are served without a span and without a line. Warnings are limited too. Without this law:
// a client sends a million waiting requests with a trace id each, and the member keeps all these ids.

import { type Clock, LimitedLines, type Logger } from '@latchkey/base'
import type { OpenTelemetry, Span, SpanTerms } from '@latchkey/client'
import { CAPS, isTraceparent, toTraceIds } from '@latchkey/protocol'

/** In ms. The log line of a longer request is a warning. */
const SLOW_MS = 1_000
const WARNINGS = { most: 20, every: 10_000 }

interface RequestTracerPorts {
  readonly clock: Pick<Clock, 'now'>
  readonly logger: Logger
  readonly openTelemetry: OpenTelemetry
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

  /** How many requests the member follows now. */
  get open(): number {
    return this.#open
  }

  /** Undefined if the traceparent is not valid or too many traced requests are open. */
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
   * If an instrumentation of node:http has begun a span for the call, the member makes no second span, and
   * only logs a line.
   */
  httpCall(method: string, parent: unknown): RequestTrace | undefined {
    if (!isTraceparent(parent)) return undefined
    const { id, openTelemetry } = this.#ports
    if (openTelemetry.isInSpan) return this.#begin(method, parent, undefined)
    const attributes = { 'http.request.method': method, 'latchkey.member.id': id }
    return this.#begin(method, parent, { name: method, kind: 'server', attributes, parent })
  }

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

/** `end` or `endHttp` must be called once. */
export class RequestTrace {
  /** The traceparent of the member's span, or that of the caller if the member has made no span. */
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

  /** Undefined if the request succeeded. */
  end(code: string | undefined): void {
    this.#span?.end(code === undefined ? {} : { 'db.response.status_code': code }, code)
    this.#ended(code)
  }

  endHttp(method: string, route: string, status: number): void {
    const name = `${method} ${route}`
    this.#span?.rename(name)
    // A status from 400 to 499 reports an error of the caller. So the span counts as failed only for a status
    // from 500 on.
    const code = status >= 500 ? String(status) : undefined
    this.#span?.end({ 'http.route': route, 'http.response.status_code': status }, code)
    this.#ended(code, name)
  }
}
