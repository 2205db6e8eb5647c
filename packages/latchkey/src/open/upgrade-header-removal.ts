// Rule: an HTTP request with an Upgrade header for another protocol than WebSocket is served as a plain
// request. A server may ignore protocols that it does not speak (RFC 9110, 7.8).
//
// Without this rule: Java's HTTP client and `curl --http2` ask for h2c in each request, and none of their
// calls is answered.

import type { IncomingMessage } from 'node:http'

export const isWebSocket = ({ headers }: IncomingMessage): boolean =>
  headers.upgrade?.trim().toLowerCase() === 'websocket'

const DROPPED: ReadonlySet<string> = new Set(['upgrade', 'http2-settings'])

export function plainHead({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2)
    const kept = keptValue(name.toLowerCase(), value)
    if (kept !== undefined) text += `${name}: ${kept}\r\n`
  }
  return Buffer.from(`${text}\r\n`, 'latin1')
}

function keptValue(name: string, value: string): string | undefined {
  if (DROPPED.has(name)) return undefined
  if (name !== 'connection') return value
  const kept = value.split(',').filter((option) => !DROPPED.has(option.trim().toLowerCase()))
  return kept.length === 0 ? undefined : kept.join(',')
}
