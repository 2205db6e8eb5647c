// Door: parses the path of a request to one of the routes of this port. Keys are bytes, percent-encoded.

export type Route =
  | { readonly name: 'livez' | 'readyz' | 'metrics' | 'status' }
  | { readonly name: 'kv'; readonly key: Uint8Array }
  | { readonly name: 'lock'; readonly key: Uint8Array; readonly verb: LockVerb | undefined }

export const LOCK_VERBS = ['acquire', 'renew', 'release'] as const
export type LockVerb = (typeof LOCK_VERBS)[number]

/** The methods of each route. HEAD is allowed where GET is. */
export const METHODS: Readonly<Record<string, readonly string[]>> = {
  livez: ['GET', 'HEAD'],
  readyz: ['GET', 'HEAD'],
  metrics: ['GET', 'HEAD'],
  status: ['GET', 'HEAD'],
  kv: ['GET', 'HEAD', 'PUT', 'DELETE'],
  lock: ['GET', 'HEAD'],
  'lock verb': ['POST'],
}

const PLAIN: Readonly<Record<string, Route>> = {
  '/livez': { name: 'livez' },
  '/readyz': { name: 'readyz' },
  '/metrics': { name: 'metrics' },
  '/status': { name: 'status' },
}
const KV = '/v1/kv/'
const LOCKS = '/v1/locks/'
const VERB = new RegExp(`:(${LOCK_VERBS.join('|')})$`)

/** undefined: no such route. An invalid key is a TypeError. */
export function routeOf(path: string, method: string): Route | undefined {
  const plain = Object.hasOwn(PLAIN, path) ? PLAIN[path] : undefined
  if (plain) return plain
  if (path.startsWith(KV)) return { name: 'kv', key: keyOf(path.slice(KV.length)) }
  if (!path.startsWith(LOCKS)) return undefined
  const rest = path.slice(LOCKS.length)
  // A lock's name may be 'a:renew': only a POST has an action behind the colon.
  const verb = method === 'POST' ? (VERB.exec(rest)?.[1] as LockVerb | undefined) : undefined
  return { name: 'lock', key: keyOf(verb ? rest.slice(0, -verb.length - 1) : rest), verb }
}

/** The bytes of a percent-encoded key. */
export function keyOf(encoded: string): Uint8Array {
  if (encoded === '') throw new TypeError('The key is missing: it is the last part of the path.')
  if (encoded.includes('/')) throw new TypeError('A slash in a key is written %2F.')
  const bytes: number[] = []
  for (let i = 0; i < encoded.length; i++) {
    const unit = encoded.charCodeAt(i)
    if (unit === 0x25) {
      const hex = encoded.slice(i + 1, i + 3)
      if (!/^[0-9a-fA-F]{2}$/.test(hex)) throw new TypeError(`'%${hex}' in the key is no percent-encoding.`)
      bytes.push(Number.parseInt(hex, 16))
      i += 2
    } else bytes.push(unit & 0xff)
  }
  return Uint8Array.from(bytes)
}
