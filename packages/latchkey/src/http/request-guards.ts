// Rule: who may come in: which right a call needs, which pages of browsers may call, under which names.

import type { IncomingMessage } from 'node:http'
import { LatchkeyError, show } from '@latchkey/protocol'
import type { Identity, Right } from '../member/rights.js'
import type { HttpPorts } from './http-ports.js'
import type { Route } from './routes.js'

/** undefined: everybody, since probes carry no token. */
export function rightFor(route: Route, method: string): Right | undefined {
  if (route.name === 'livez' || route.name === 'readyz') return undefined
  return method === 'GET' || method === 'HEAD' ? 'read' : 'write'
}

/** Who calls, if it has that right; else why not. */
export function callerOf(
  ports: HttpPorts,
  { headers, socket }: IncomingMessage,
  right: Right,
): Identity | LatchkeyError {
  const token = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  const identity = ports.identify(token, socket)
  if (identity instanceof LatchkeyError) return identity
  return identity.rights.includes(right) ? identity : new LatchkeyError('ERR_FORBIDDEN')
}

/**
 * A page in a browser can make its reader's machine call a port on loopback. It cannot hide where it comes from: it sends Origin
 * with what could change something, and a name of its own choosing as Host where it made that name lead to loopback.
 * null: it may; else why not.
 */
export function refuseOrigin(
  ports: Pick<HttpPorts, 'origins' | 'hosts'>,
  origin: string | undefined,
  host: string | undefined,
): LatchkeyError | null {
  if (origin !== undefined && !ports.origins.has(origin)) {
    return new LatchkeyError(
      'ERR_FORBIDDEN',
      `Pages of ${show(origin)} may not call here; list it with --allow-origin.`,
    )
  }
  if (ports.hosts === undefined || host === undefined || isKnownHost(ports.hosts, host)) return null
  return new LatchkeyError(
    'ERR_FORBIDDEN',
    `This port is not known under the name ${JSON.stringify(host.slice(0, 100))}. If that is one of its names, list it with --allow-host.`,
  )
}

/**
 * What a browser wants to hear before a page of an allowed origin may call, and before it may read the answer; undefined: no
 * such page asks. `allow`: the methods of that path.
 */
export function pageHeaders(
  ports: Pick<HttpPorts, 'origins'>,
  method: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  allow: string | undefined,
): Record<string, string> | undefined {
  const { origin } = headers
  if (typeof origin !== 'string' || !ports.origins.has(origin)) return undefined
  const read = {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'ETag, Latchkey-Create-Revision, Latchkey-Version, Retry-After',
    vary: 'Origin',
  }
  if (method !== 'OPTIONS' || allow === undefined) return read
  return {
    ...read,
    'access-control-allow-methods': allow,
    'access-control-allow-headers': 'Authorization, Content-Type, If-Match, If-None-Match, Latchkey-Guard',
    'access-control-max-age': '600',
  }
}

function isKnownHost(hosts: ReadonlySet<string>, header: string): boolean {
  const name = header.replace(/:[0-9]+$/, '').toLowerCase()
  const isAddress = /^[0-9.]+$/.test(name) || name.startsWith('[')
  return isAddress || name === 'localhost' || name.endsWith('.localhost') || hosts.has(name)
}
