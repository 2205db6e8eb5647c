// Door: reads the JSON bodies of requests about a set of locks.

import { binary } from '@latchkey/base'
import { modeArg } from '@latchkey/lock'
import { CAPS, KIND, knownNames, lockKeyOf, refuseUnknown, show } from '@latchkey/protocol'
import type { Call } from './http-route-dependencies.js'
import { objectOf } from './json-body.js'
import { askOf, contextOf, idOf, leaseOf, tokenOf } from './lock-body.js'
import type { LockSetRequest } from './wait-for-lock-set.js'
import { limitedKey } from './route-of-path.js'
import { bytesField } from './values-json.js'

type Key = Uint8Array
type Fields = Record<string, unknown>

/** In bytes. 64 keys of 4 KiB, with each character escaped, fit into a body. */
const MOST_BYTES = 2 * CAPS.keysOfSet * CAPS.keyBytes * 6

const OF_ASK = knownNames('key', 'keyBase64', 'mode')
const OF_RELEASE = knownNames('key', 'keyBase64')
const OF_RENEWAL = knownNames('key', 'keyBase64', 'fencingToken')

export async function setBody(call: Call): Promise<LockSetRequest> {
  const given = await objectOf(call, MOST_BYTES)
  const list = partsOf(given.keys, 'keys', OF_ASK).map(
    ({ key, part }) => [key, modeArg(part.mode)?.[0] ?? 0] as const,
  )
  return { ...askOf(call, given), list, context: contextOf(given.context) }
}

export async function renewSetBody(call: Call) {
  const given = await objectOf(call, MOST_BYTES)
  const locks = partsOf(given.locks, 'locks', OF_RENEWAL).map(({ key, part }) => ({
    key,
    token: tokenOf(part.fencingToken),
  }))
  return {
    id: idOf(given.id),
    locks,
    lease: given.lease === undefined ? undefined : leaseOf(given.lease),
  }
}

export async function releaseSetBody(call: Call) {
  const given = await objectOf(call, MOST_BYTES)
  return { id: idOf(given.id), keys: partsOf(given.keys, 'keys', OF_RELEASE).map(({ key }) => key) }
}

function partsOf(
  given: unknown,
  name: string,
  known: ReturnType<typeof knownNames>,
): { readonly key: Key; readonly part: Fields }[] {
  if (!Array.isArray(given)) throw new TypeError(`${name} must be a list; got ${show(given)}`)
  if (given.length === 0 || given.length > CAPS.keysOfSet)
    throw new TypeError(`${name} must have 1 to ${CAPS.keysOfSet} entries; got ${given.length}`)
  const seen = new Set<string>()
  return given.map((one: unknown, at) => {
    const part = partOf(one, `${name}[${at}]`)
    refuseUnknown(part, known, 'field', `${name}[${at}]`)
    const key = bytesField(part, 'key', `${name}[${at}]`)
    if (key === undefined || key.length === 0)
      throw new TypeError(`${name}[${at}] needs a key that is not empty`)
    const bytes = typeof key === 'string' ? Buffer.from(key) : key
    if (seen.has(binary(bytes))) throw new TypeError(`${name} has ${show(key)} twice`)
    seen.add(binary(bytes))
    return { key: lockKeyOf(KIND.lock, limitedKey(bytes, `${name}[${at}]`)), part }
  })
}

function partOf(one: unknown, name: string): Fields {
  if (typeof one === 'string') return { key: one }
  if (typeof one === 'object' && one !== null && !Array.isArray(one)) return one as Fields
  throw new TypeError(`${name} must be a text or an object; got ${show(one)}`)
}
