// Door: checks the arguments that several lock engines have in common.

import { utf8 } from '@latchkey/base'
import { KIND, lockKeyOf, show } from '@latchkey/protocol'

export function serverPrefixArg(prefix: unknown): string {
  if (typeof prefix === 'string' && prefix !== '' && prefix.length <= 200) return prefix
  throw new TypeError(`prefix must be a text of 1 to 200 characters; got ${show(prefix)}`)
}

/** Returns the key under which the engine keeps the lock. */
export function guardedKey({ key, token }: { readonly key: string | Uint8Array; readonly token: number }) {
  const name = lockKeyOf(KIND.lock, typeof key === 'string' ? utf8(key) : key)
  if (Number.isSafeInteger(token)) return name
  throw new TypeError(`token must be a safe integer; got ${String(token)}`)
}

/** Runs `make`, which loads the package `driver`. Without this package, the error says what to install. */
export async function withDriver<T>(address: string, driver: string, make: () => Promise<T>): Promise<T> {
  try {
    return await make()
  } catch (cause) {
    if ((cause as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw cause
    throw new TypeError(`${address} needs the driver ${driver}: npm install ${driver}`, { cause })
  }
}
