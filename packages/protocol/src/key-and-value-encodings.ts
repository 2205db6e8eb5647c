// Types: the encodings of keys and values.

/** A key or a value, as text or as bytes. A string is encoded as UTF-8. Keys are ordered by their bytes. */
export type Bytes = string | Uint8Array

/**
 * The encoding of values and keys. `bytes` (the default) and `string` accept `string | Uint8Array`. `json`
 * and `msgpack` accept any value except `undefined`. Under `bytes` the calls return keys as `Uint8Array`,
 * otherwise as strings.
 */
export type As = 'bytes' | 'string' | 'json' | 'msgpack'
/** The encodings for which the caller gives the type of the values: `get<User>(key)`. */
export type Parsed = 'json' | 'msgpack'
/**
 * What a read does with a stored value that it cannot decode. With 'error' the read fails with
 * ERR_UNDECODABLE. With 'bytes' the read returns the value as `Uint8Array`.
 */
export type OnUndecodable = 'error' | 'bytes'

export type KeyAs<A extends As> = A extends 'bytes' ? Uint8Array : string
/** The type of a returned value. Under `json` and `msgpack`, the caller chooses this type as `T`. */
export type ValueAs<A extends As, T = unknown> = A extends 'bytes'
  ? Uint8Array
  : A extends 'string'
    ? string
    : T
/**
 * The type of a value that a caller may put. Under `json` and `msgpack` the value may have any type except
 * undefined.
 */
export type ValueIn<A extends As> = A extends Parsed ? NonNullable<unknown> | null : Bytes

/**
 * How a call encodes and decodes keys and values. Options that the call does not give come from its `sub` or
 * its store.
 */
export interface Decoding {
  readonly as: As
  readonly onUndecodable: OnUndecodable
  /**
   * The prefix of the `sub`, or empty for the store itself. Stored keys begin with the prefix, and callers of
   * the `sub` do not see the prefix.
   */
  readonly prefix: Uint8Array
}
