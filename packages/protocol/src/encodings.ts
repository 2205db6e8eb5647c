// Types: the encodings of keys and values.

/** A key or a value, as text or as bytes. Strings are encoded as UTF-8. Keys are ordered by their bytes. */
export type Bytes = string | Uint8Array

/**
 * The encoding of values and keys. `bytes` (the default) and `string` accept `string | Uint8Array`. `json`
 * and `msgpack` accept any value but `undefined`. Keys are returned as `Uint8Array` under `bytes`, otherwise
 * as strings.
 */
export type As = 'bytes' | 'string' | 'json' | 'msgpack'
/** The encodings whose values have a type that the caller gives: `get<User>(key)`. */
export type Parsed = 'json' | 'msgpack'
/**
 * What a read does with a stored value that it cannot decode. With 'error' the read fails with
 * ERR_UNDECODABLE. With 'bytes' the read returns the stored `Uint8Array`.
 */
export type OnUndecodable = 'error' | 'bytes'

/** The type of a returned key. */
export type KeyAs<A extends As> = A extends 'bytes' ? Uint8Array : string
/** The type of a returned value. `T` is the type of parsed values, as the caller knows it. */
export type ValueAs<A extends As, T = unknown> = A extends 'bytes'
  ? Uint8Array
  : A extends 'string'
    ? string
    : T
/** The type of a value that may be put. Under `json` and `msgpack` it is any type but undefined. */
export type ValueIn<A extends As> = A extends Parsed ? NonNullable<unknown> | null : Bytes

/**
 * How one call reads and writes values. What the call does not say comes from its `sub`, or from the store.
 */
export interface Decoding {
  readonly as: As
  readonly onUndecodable: OnUndecodable
  /**
   * The prefix of a `sub`. Keys have the prefix in the store, but callers of the `sub` do not see the prefix.
   * It is empty for the store itself.
   */
  readonly prefix: Uint8Array
}
