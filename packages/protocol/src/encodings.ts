// Types: how keys and values travel between a caller and a store, in both directions.

/** A key, or a value as text or bytes. Strings are UTF-8; keys are ordered by their bytes. */
export type Bytes = string | Uint8Array

/**
 * How values are written and how keys and values come back. `bytes` (the default) and `string` take `string | Uint8Array`; under `json` and
 * `msgpack` any value can be put but `undefined`. Keys come back as `Uint8Array` under `bytes`, else as strings.
 */
export type As = 'bytes' | 'string' | 'json' | 'msgpack'
/** The encodings whose values have a type of the caller's: `get<User>(key)`. */
export type Parsed = 'json' | 'msgpack'
/** What becomes of a stored value that is no JSON, or no MessagePack: ERR_UNDECODABLE, or the `Uint8Array` as it is. */
export type OnUndecodable = 'error' | 'bytes'

/** A key as it comes back. */
export type KeyAs<A extends As> = A extends 'bytes' ? Uint8Array : string
/** A value as it comes back; `T` is what the caller knows of it. */
export type ValueAs<A extends As, T = unknown> = A extends 'bytes'
  ? Uint8Array
  : A extends 'string'
    ? string
    : T
/** A value as it may be put. Under `json` and `msgpack`: anything but undefined. */
export type ValueIn<A extends As> = A extends Parsed ? NonNullable<unknown> | null : Bytes

/** How one call reads: what the call says, else the store. */
export interface Decoding {
  readonly as: As
  readonly onUndecodable: OnUndecodable
}
