// Door: decompresses a block that LevelDB has compressed with Snappy. Only the indexes of tables are
// decompressed here. The indexes are small, and their checksums were checked before.
//
//   varint length of the whole | pieces, by the low two bits of their first byte:
//     00  literal: u6 length - 1 | bytes; 60 to 63: the length is in the 1 to 4 bytes that follow
//     01  copy of 4 to 11 bytes: u3 length - 4, u3 high bits of the distance | u8 distance
//     10  copy of 1 to 64 bytes: u6 length - 1 | u16le distance
//     11  the same | u32le distance
//
// Law: for any input, the function never reads before the start of the output, and never writes beyond the
// stated length of the output.

import { Varints } from './varints.js'

/** In bytes. A block that would be larger after decompression is refused as not valid. */
const MOST_BYTES = 64 * 1024 * 1024

/** Returns undefined if the block is not valid Snappy. */
export function unsnappied(block: Buffer): Buffer | undefined {
  const length = new Varints(block).next()
  if (!(length <= MOST_BYTES)) return undefined
  const out = Buffer.alloc(length)
  let at = varintBytes(length)
  let made = 0
  while (at < block.length) {
    const tag = block[at] as number
    const piece = (tag & 3) === 0 ? literal(block, at, tag) : copy(block, at, tag)
    if (piece === undefined || made + piece.length > length) return undefined
    if (piece.distance === 0) block.copy(out, made, piece.end - piece.length, piece.end)
    else if (!repeat(out, made, piece)) return undefined
    made += piece.length
    at = piece.end
  }
  return made === length ? out : undefined
}

const varintBytes = (value: number): number => (value < 128 ? 1 : 1 + varintBytes(Math.floor(value / 128)))

interface Piece {
  readonly length: number
  /**
   * The bytes to repeat begin this many bytes before the end of the output. A literal repeats nothing: its
   * distance is 0, and `end` is the end of its bytes in the block.
   */
  readonly distance: number
  readonly end: number
}

function literal(block: Buffer, at: number, tag: number): Piece | undefined {
  const short = tag >>> 2
  const wide = short < 60 ? 0 : short - 59
  const from = at + 1 + wide
  if (from > block.length) return undefined
  const length = 1 + (wide === 0 ? short : block.readUIntLE(at + 1, wide))
  return from + length <= block.length ? { length, distance: 0, end: from + length } : undefined
}

function copy(block: Buffer, at: number, tag: number): Piece | undefined {
  const wide = (tag & 3) === 3 ? 4 : tag & 3
  const end = at + 1 + wide
  if (end > block.length) return undefined
  const behind = block.readUIntLE(at + 1, wide)
  const [length, distance] =
    wide === 1 ? [4 + ((tag >>> 2) & 7), ((tag >>> 5) << 8) | behind] : [1 + (tag >>> 2), behind]
  return distance === 0 ? undefined : { length, distance, end }
}

/**
 * Appends `length` bytes of the output to the output. If the distance is shorter than the length, the loop
 * also repeats bytes that it has just written. Returns false for a distance beyond the start of the output.
 */
function repeat(out: Buffer, made: number, { length, distance }: Piece): boolean {
  if (distance > made) return false
  for (let i = made; i < made + length; i++) out[i] = out[i - distance] as number
  return true
}
