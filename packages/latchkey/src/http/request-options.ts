// Door: what a caller may say beside the body: headers that come once, ?timeout=5s, ?consistency=stale.

import { type CallOptions, type Duration, millis, type ReadOptions, show } from '@latchkey/protocol'
import type { Call } from './http-ports.js'

const KNOWN = new Set(['timeout', 'consistency'])

export function oneHeader(call: Call, name: string): string | undefined {
  const value = call.headers[name]
  if (Array.isArray(value)) throw new TypeError(`${name} must be given once.`)
  return value
}

export function refuseUnknownQuery(query: URLSearchParams): void {
  for (const name of query.keys()) {
    if (!KNOWN.has(name))
      throw new TypeError(`Unknown query parameter ${show(name)}; there are timeout and consistency.`)
  }
}

export function timeoutOption(call: Call): number | undefined {
  const text = call.query.get('timeout')
  return text === null ? undefined : millis(durationOf(text), 'timeout')
}

/** '5000' as well as '5s': a query knows no numbers. */
const durationOf = (text: string): Duration => (/^[1-9][0-9]*$/.test(text) ? Number(text) : text)

export function callOptions(call: Call): CallOptions {
  return { timeout: timeoutOption(call), signal: call.signal }
}

export function readOptions(call: Call): ReadOptions {
  const consistency = call.query.get('consistency') ?? 'linearizable'
  if (consistency !== 'linearizable' && consistency !== 'stale') {
    throw new TypeError("consistency must be 'linearizable' or 'stale'.")
  }
  return { ...callOptions(call), consistency }
}
