// Door: reads and writes the traceparent of W3C Trace Context, level 1: the ids of a trace and of a span.
//
// Law (OB3): only a complete traceparent of version 00 is accepted, which always has the same length. Without
// this law, a stranger could send a megabyte of text as the id of a trace. Each log line of the request would
// repeat the text.

interface TraceIds {
  /** 32 digits in hex, not all 0. */
  readonly traceId: string
  /** 16 digits in hex, not all 0. */
  readonly spanId: string
  /** One byte of flags. The lowest bit means that the trace is recorded. */
  readonly flags: number
}

const LENGTH = 55
const SHAPE = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

export const isTraceparent = (value: unknown): value is string =>
  typeof value === 'string' && value.length === LENGTH && SHAPE.test(value)

export function toTraceIds(value: unknown): TraceIds | undefined {
  if (!isTraceparent(value)) return undefined
  const [, traceId = '', spanId = '', flags = ''] = SHAPE.exec(value) ?? []
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}

export const traceparentOf = ({ traceId, spanId, flags }: TraceIds): string =>
  `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`
