// Driver: an OpenTelemetry SDK in this process that keeps all spans in memory, for tests.

import { context, trace, type Tracer } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base'

export interface RecordedSpans {
  readonly tracer: Tracer
  /** Returns the spans that have ended. */
  spans(): ReadableSpan[]
  clear(): void
  /** If this is set, each start or each end of a span throws an error. */
  failingAt: 'start' | 'end' | undefined
  unregister(): void
}

export function recordSpans(): RecordedSpans {
  const exporter = new InMemorySpanExporter()
  const failAt = (place: RecordedSpans['failingAt']) => () => {
    if (recorded.failingAt === place) throw new Error('this processor fails')
  }
  const done = async () => {}
  const failing: SpanProcessor = {
    onStart: failAt('start'),
    onEnd: failAt('end'),
    forceFlush: done,
    shutdown: done,
  }
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter), failing] })
  trace.setGlobalTracerProvider(provider)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const recorded: RecordedSpans = {
    failingAt: undefined,
    tracer: trace.getTracer('the application'),
    spans: () => exporter.getFinishedSpans(),
    clear: () => exporter.reset(),
    unregister: () => {
      trace.disable()
      context.disable()
    },
  }
  return recorded
}

/** Draws the spans of one trace as lines, in the order of their start, each indented below its parent. */
export function drawTrace(spans: readonly ReadableSpan[], root: ReadableSpan): string[] {
  const kinds = ['internal', 'server', 'client', 'producer', 'consumer']
  const below = (parent: ReadableSpan, depth: number): string[] => {
    const { 'latchkey.member.role': role } = parent.attributes
    const where = role === undefined ? '' : ` at the ${String(role)}`
    const line = `${'  '.repeat(depth)}${parent.name} (${kinds[parent.kind]}${where})`
    const id = parent.spanContext().spanId
    const children = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === id)
    return [line, ...children.sort(byBeginning).flatMap((child) => below(child, depth + 1))]
  }
  return below(root, 0)
}

const byBeginning = (a: ReadableSpan, b: ReadableSpan): number =>
  a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1]
