// Rule: decides which HTTP requests the member accepts, by the identity of the caller, the Origin header of a
// browser, and the Host header.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { LatchkeyError, show } from '@latchkey/protocol'
import type { Identity, Right } from '../member/identity-and-rights.js'
import type { HttpPorts } from './http-route-dependencies.js'

export type NeededRight = Right | 'any'

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
 * Returns true if the request comes from a web page that this member serves, such as the web console. The
 * headers Origin and Host of the request then name the same host. Law: this check alone is not enough. A
 * stranger can make its own host name resolve to this member, and then the stranger's page passes this check.
 * So refuseOrigin also checks the host name. If the console is served over https, any server on the way can
 * serve a page for the same host name over http. The browser reports such a page in Sec-Fetch-Site as another
 * site, so this function also checks that header.
 */
export function isOwnPage(headers: IncomingHttpHeaders): boolean {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  if (origin === undefined || host === undefined || (site !== undefined && site !== 'same-origin'))
    return false
  return URL.canParse(origin) && /^https?:/.test(origin) && new URL(origin).host === host.toLowerCase()
}

/**
 * Returns `null` if the request is allowed. Any web page can make its visitor's browser call a port on
 * loopback. But the browser sends the page's origin with every request that could change data. If the page
 * made its own host name resolve to loopback, the browser sends that name in Host. So this function checks
 * both headers.
 */
export function refuseOrigin(
  ports: Pick<HttpPorts, 'origins' | 'hosts'>,
  origin: string | undefined,
  host: string | undefined,
): LatchkeyError | null {
  if (origin !== undefined && !ports.origins.has(origin)) {
    return new LatchkeyError(
      'ERR_FORBIDDEN',
      `Web pages of ${show(origin)} may not call this port. To allow them, add this origin with --allow-origin.`,
    )
  }
  if (ports.hosts === undefined || host === undefined || isKnownHost(ports.hosts, host)) return null
  return new LatchkeyError(
    'ERR_FORBIDDEN',
    `This port is not known under the name ${JSON.stringify(host.slice(0, 100))}. If that is one of its names, list it with --allow-host.`,
  )
}

/**
 * CORS headers for a page of an allowed origin. Without these headers, a browser blocks the page's call or
 * hides the answer. `allow` lists the methods of the path.
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
