// Door: the options of a request outside its body: headers that may occur once, ?timeout=5s,
// ?consistency=stale, ?ttl=30s of a put.

import { type CallOptions, millis, type ReadOptions, show } from '@latchkey/protocol'
import type { Call } from './http-ports.js'

const KNOWN = ['timeout', 'consistency']
const KNOWN_OF_PUT = [...KNOWN, 'ttl']

export function oneHeader(call: Call, name: string): string | undefined {
  const value = call.headers[name]
  if (Array.isArray(value)) throw new TypeError(`${name} must be given once.`)
  return value
}

export function refuseUnknownQuery(query: URLSearchParams, isPut: boolean): void {
  const known = isPut ? KNOWN_OF_PUT : KNOWN
  for (const name of query.keys()) {
    if (!known.includes(name))
      throw new TypeError(`Unknown query parameter ${show(name)}; there are ${known.join(' and ')}.`)
  }
}

export const timeoutOption = (call: Call): number | undefined => durationOption(call, 'timeout')

/** Milliseconds. */
export function durationOption(call: Call, name: 'timeout' | 'ttl'): number | undefined {
  const text = call.query.get(name)
  return text === null ? undefined : millis(durationOf(text), name)
}

/** '5000' means the same as '5s': a query has no numbers. */
const durationOf = (text: string): number | string => (/^[1-9][0-9]*$/.test(text) ? Number(text) : text)

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
