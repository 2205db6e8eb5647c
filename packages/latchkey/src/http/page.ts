// Door: the page for people, and its files.
//
// Law: the page runs no script and loads nothing but its own files, and no other page shows it in a frame.
// Without this law: a value in the store that was put into the page as HTML is a program with the rights of
// whoever looks; a page that frames this one makes its reader press a button that is not seen.

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
