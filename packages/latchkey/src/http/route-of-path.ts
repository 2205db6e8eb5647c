// Door: finds the routes for the path of a request. A key in the path is percent-encoded and may have any
// bytes.

import { didYouMean } from '@latchkey/base'
import { CAPS, LatchkeyError } from '@latchkey/protocol'
import { isStream, ROUTE_IDS, type Route, type RouteId, routeAt } from './route-table.js'

export interface Place {
  readonly path: string
  /**
   * The decoded part of the request's path at the place of a name in braces, such as {key}. Empty if the
   * route's path has no such name.
   */
  readonly key: Uint8Array
  readonly routes: Readonly<Record<string, RouteId>>
  /** The allowed methods. A path with GET also allows HEAD, except if the answer to GET is a stream. */
  readonly methods: readonly string[]
}

interface Template {
  readonly path: string
  readonly before: string
  /** The text that follows the key in the path, for example ':acquire'. */
  readonly after: string
  readonly routes: Record<string, RouteId>
  readonly methods: string[]
}

const PLAIN = new Map<string, Template>()
const WITH_KEY: Template[] = []

for (const id of ROUTE_IDS) {
  const route = routeAt(id)
  const template = templateOf(route.path)
  template.routes[route.method] = id
  template.methods.push(route.method)
  if (route.method !== 'GET' || isStream(route) || route.right === 'admin') continue
  template.routes.HEAD = id
  template.methods.push('HEAD')
}

function templateOf(path: string): Template {
  const [before = path, after = ''] = path.split(/\{[a-z]+\}/)
  const isPlain = before === path
  const known = isPlain ? PLAIN.get(path) : WITH_KEY.find((one) => one.path === path)
  if (known !== undefined) return known
  const made: Template = {
    path,
    before,
    after,
    routes: Object.create(null) as object as Template['routes'],
    methods: [],
  }
  if (isPlain) PLAIN.set(path, made)
  else WITH_KEY.push(made)
  return made
}

export function placeOf(path: string, method: string): Place | undefined {
  const plain = PLAIN.get(path)
  if (plain !== undefined) return { ...plain, key: NO_KEY }
  const here = WITH_KEY.filter(({ before }) => path.startsWith(before))
  // A key may itself end with ':renew'. So ':renew' counts as a verb only if a route with this verb allows
  // the method of the request.
  const verb = here.find(
    ({ after, routes }) => after !== '' && routes[method] !== undefined && path.endsWith(after),
  )
  const found = verb ?? here.find(({ after }) => after === '') ?? withoutVerb(here)
  if (found === undefined) return undefined
  return { ...found, key: keyOf(path.slice(found.before.length, path.length - (verb?.after.length ?? 0))) }
}

/**
 * Every route of a semaphore ends with a verb, such as ':acquire'. If the path of a semaphore has no verb,
 * the member answers with status 405 and names POST.
 */
const withoutVerb = ([first]: readonly Template[]): Template | undefined =>
  first && { ...first, routes: {}, methods: ['POST'] }

const NO_KEY = new Uint8Array(0)

export const routeOf = (place: Place, method: string): Route | undefined => {
  const id = place.routes[method]
  return id === undefined ? undefined : routeAt(id)
}

export function nearestPath(path: string): string {
  const known = [...PLAIN.keys(), ...WITH_KEY.map(({ before }) => before.slice(0, -1))]
  const segments = path.split('/', 3).join('/')
  return didYouMean(path, known) || didYouMean(segments, known)
}

export function nearestVerb({ path }: Place, given: string): string {
  const verbs = WITH_KEY.filter(
    (one) => one.before === path.slice(0, path.indexOf('{')) && 'POST' in one.routes,
  )
  const names = verbs.map(({ after }) => after)
  const tried = given.slice(given.lastIndexOf(':'))
  const hint = tried.startsWith(':') ? didYouMean(tried, names) : ''
  return hint || `: ${names.join(', ')}`
}

export function keyOf(encoded: string): Uint8Array {
  if (encoded === '') throw new TypeError('The key is missing: it is the last part of the path.')
  if (encoded.includes('/')) throw new TypeError('A slash in a key is written %2F.')
  return limitedKey(percentDecoded(encoded, 'the key'), 'The key')
}

/** For some routes, this is the only check of the length of a name. */
export function limitedKey(key: Uint8Array, what: string): Uint8Array {
  if (key.length <= CAPS.keyBytes) return key
  throw new LatchkeyError('ERR_TOO_LARGE', `${what} has ${key.length} bytes; at most ${CAPS.keyBytes}.`)
}

export function percentDecoded(encoded: string, what: string): Uint8Array {
  const bytes: number[] = []
  for (let i = 0; i < encoded.length; i++) {
    const unit = encoded.charCodeAt(i)
    if (unit === 0x25) {
      const hex = encoded.slice(i + 1, i + 3)
      if (!/^[0-9a-fA-F]{2}$/.test(hex)) throw new TypeError(`'%${hex}' in ${what} is no percent-encoding.`)
      bytes.push(Number.parseInt(hex, 16))
      i += 2
    } else bytes.push(unit & 0xff)
  }
  return Uint8Array.from(bytes)
}
