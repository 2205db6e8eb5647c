// Driver: names of pods without a name server: names that end in `.svc` are looked up in a file, at each
// lookup anew. Loaded by the pods' processes (--import), where FAKE_DNS_FILE names the file; tests install it
// themselves.

import dns from 'node:dns'
import { readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

type Answer = (error: Error | null, found?: unknown, family?: number) => void

export function installFakeDns(file: string): void {
  const real = dns.lookup as (...args: unknown[]) => void
  const lookup = (host: string, ...rest: unknown[]) => {
    if (!host.endsWith('.svc')) return real(host, ...rest)
    const answer = rest.at(-1) as Answer
    const all = typeof rest[0] === 'object' && (rest[0] as { all?: boolean }).all === true
    const address = (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>)[host]
    setImmediate(() => {
      if (address === undefined) answer(notFound(host))
      else if (all) answer(null, [{ address, family: 4 }])
      else answer(null, address, 4)
    })
  }
  Object.assign(dns, { lookup })
  const promised = dns.promises.lookup as (...args: unknown[]) => Promise<unknown>
  const lookupAll = (host: string, ...rest: unknown[]) => {
    if (!host.endsWith('.svc')) return promised(host, ...rest)
    return new Promise((resolve, reject) => {
      lookup(host, { all: true }, ((error, found) => (error ? reject(error) : resolve(found))) as Answer)
    })
  }
  Object.assign(dns.promises, { lookup: lookupAll })
  syncBuiltinESMExports()
}

const notFound = (hostname: string) =>
  Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), {
    code: 'ENOTFOUND',
    syscall: 'getaddrinfo',
    hostname,
  })

const given = process.env['FAKE_DNS_FILE']
if (given !== undefined) installFakeDns(given)
