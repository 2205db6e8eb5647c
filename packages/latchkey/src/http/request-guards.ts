// Rule: decides which requests are accepted: by the identity of the caller, the origin of a browser page, and
// the host name in the request.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { LatchkeyError, show } from '@latchkey/protocol'
import type { Identity, Right } from '../member/rights.js'
import type { HttpPorts } from './http-ports.js'

/** 'any' means that every authenticated caller has the right. */
export type NeededRight = Right | 'any'

/** Returns the caller's identity if the caller has the right. Otherwise returns the refusal. */
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
 * Tells whether the request comes from the web page that this port itself serves. The origin of such a
 * request equals the host in the request.
 * Law: the result does not prove that the host name belongs to this port. A foreign page whose own host name
 * resolves to this port also has an origin that equals the host, so refuseOrigin must still check the host
 * name. If the browser reports a cross-origin request, the request does not come from this page: an http page
 * with the same name may come from any server.
 */
export function isOwnPage(headers: IncomingHttpHeaders): boolean {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  if (origin === undefined || host === undefined || (site !== undefined && site !== 'same-origin'))
    return false
  return URL.canParse(origin) && /^https?:/.test(origin) && new URL(origin).host === host.toLowerCase()
}

/**
 * Returns the reason to refuse the request because of its origin or its host name, or `null` if it is
 * allowed.
 * A web page can make its visitor's browser call a port on loopback. The page cannot hide its origin. The
 * browser sends Origin with every request that could change data. If the page made its own host name resolve
 * to loopback, the browser sends that name in Host.
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
 * Returns the CORS headers for a page of an allowed origin. Without them, a browser blocks the page's call or
 * hides the answer. Undefined if the request does not come from such a page. `allow` lists the methods of the
 * path.
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
