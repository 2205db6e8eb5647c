// Door: serves the console, the member's web page, and its files.
//
// Law: the page runs only scripts from its own files, loads nothing from other servers, and is never shown
// inside another page's frame. Without this law: a value of the store that enters the page as HTML becomes a
// program with the rights of the person at the page, or another page hides the console in a frame, and the
// person presses a button that he does not see.

import { problem } from './errors.js'
import type { Call, HttpPorts, Reply } from './http-ports.js'

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
