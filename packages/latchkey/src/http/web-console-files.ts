// Door: serves the web console, which is the member's web page, and its files.
//
// Law: the console runs only its own scripts, loads nothing from other servers, and is never shown in a frame
// of another page. Without this law: a value of the store becomes a script that acts with the user's rights.
// Or another page hides the console in a frame, and the user presses a button without seeing it.

import { problem } from './http-status-of-errors.js'
import type { Call, HttpPorts, Reply } from './http-route-dependencies.js'

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

export function pageReply(
  ports: Pick<HttpPorts, 'pageFile'>,
  { headers }: Pick<Call, 'headers'>,
  name: string,
): Reply {
  const file = ports.pageFile?.(name)
  if (file === undefined) return problem(404, 'NOT_FOUND', 'This member has no such file of the page.')
  const { type, bytes, gzip } = file
  const isSmall = /\bgzip\b(?!;q=0)/.test(String(headers['accept-encoding'] ?? ''))
  const more = { ...(isSmall && { 'content-encoding': 'gzip' }), vary: 'accept-encoding' }
  return { status: 200, headers: { ...HEADERS, ...more, 'content-type': type }, body: isSmall ? gzip : bytes }
}
