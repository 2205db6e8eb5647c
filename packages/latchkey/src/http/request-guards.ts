// Rule: which requests are let in: the identity of the caller, the allowed origins of browser pages, and the
// allowed host names.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { LatchkeyError, show } from '@latchkey/protocol'
import type { Identity, Right } from '../member/rights.js'
import type { HttpPorts } from './http-ports.js'

/** 'any': any caller that is known. */
export type NeededRight = Right | 'any'

/** The identity of the caller if it has this right; otherwise the reason. */
export function callerOf(
  ports: HttpPorts,
  { headers, socket }: IncomingMessage,
  right: NeededRight,
): Identity | LatchkeyError {
  const token = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  const identity = ports.identify(token, socket)
  if (identity instanceof LatchkeyError) return identity
  return right === 'any' || identity.rights.includes(right) ? identity : new LatchkeyError('ERR_FORBIDDEN')
}

/**
 * Whether a request comes from the page that this port itself serves: its origin is the host that was asked.
 * Law: this says nothing of the name of the host. A page whose own name was made to resolve to this port has
 * such an origin too, and refuseOrigin must still refuse that name. Where the browser says that
 * origins differ,
 * it is believed: a page of http at the same name may be anybody's.
 */
export function isOwnPage(headers: IncomingHttpHeaders): boolean {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  if (origin === undefined || host === undefined || (site !== undefined && site !== 'same-origin'))
    return false
  return URL.canParse(origin) && /^https?:/.test(origin) && new URL(origin).host === host.toLowerCase()
}

/**
 * A page in a browser can make its reader's machine call a port on loopback. The page cannot hide its origin:
 * the browser sends Origin with each request that could change something, and sends Host with the page's own
 * name if the page made that name resolve to loopback. null: the request is allowed; otherwise the reason.
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
 * The CORS headers that a browser needs before a page of an allowed origin may call, and before the page may
 * read the answer; undefined: the request does not come from such a page. `allow`: the methods of that path.
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
    'access-control-allow-headers':
      'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Latchkey-Guard',
    'access-control-max-age': '600',
  }
}

function isKnownHost(hosts: ReadonlySet<string>, header: string): boolean {
  const name = header.replace(/:[0-9]+$/, '').toLowerCase()
  const isAddress = /^[0-9.]+$/.test(name) || name.startsWith('[')
  return isAddress || name === 'localhost' || name.endsWith('.localhost') || hosts.has(name)
}
