// Door: reads the numbers of the tables in use from a LevelDB manifest. An interrupted compaction may leave a
// half-written table. No manifest names such a table, and LevelDB removes or replaces it.
//
//   file    blocks of 32 KiB with records one after the other; none begins in a block's last 6 bytes
//   record  u32le masked crc32c of kind and bytes | u16le length | u8 kind | bytes
//   kind    1 whole, 2 first, 3 middle, 4 last
//   edit    a tag and its fields, repeated; tag 7 adds a table, tag 6 removes one

import { elementAt } from '@latchkey/base'
import { crc32c, masked } from './crc32c.js'
import { Varints } from './varints.js'

const BLOCK = 32 * 1024
const HEADER = 7
const [WHOLE, FIRST, MIDDLE, LAST] = [1, 2, 3, 4]

/**
 * Returns the numbers of the tables in use, or undefined if the manifest cannot be read. An incomplete last
 * record, which a crash has left, is ignored.
 */
export function tablesOf(manifest: Buffer): ReadonlySet<number> | undefined {
  const edits = editsOf(manifest)
  if (edits === undefined) return undefined
  const live = new Set<number>()
  for (const edit of edits) if (!apply(edit, live)) return undefined
  return live
}

/** Returns the offset of the first record with a wrong checksum, or undefined if all checksums are right. */
export function damageIn(manifest: Buffer): number | undefined {
  let damage: number | undefined
  editsOf(manifest, (at) => {
    damage = at
  })
  return damage
}

function editsOf(manifest: Buffer, damagedAt: (at: number) => void = () => {}): Buffer[] | undefined {
  const edits: Buffer[] = []
  let parts: Buffer[] = []
  for (let at = 0; at + HEADER <= manifest.length; ) {
    const room = BLOCK - (at % BLOCK)
    if (room < HEADER) {
      at += room
      continue
    }
    const length = manifest.readUInt16LE(at + 4)
    const kind = manifest[at + 6] as number
    const end = at + HEADER + length
    if (end > manifest.length) break
    if (masked(crc32c(manifest, at + 6, end)) !== manifest.readUInt32LE(at)) {
      damagedAt(at)
      return undefined
    }
    const bytes = manifest.subarray(at + HEADER, end)
    if (kind === WHOLE) edits.push(bytes)
    else if (kind === FIRST) parts = [bytes]
    else if (kind === MIDDLE || kind === LAST) parts.push(bytes)
    else return undefined
    if (kind === LAST) edits.push(Buffer.concat(parts))
    at = end
  }
  return edits
}

/** The fields after each tag: numbers (n) and strings (s). */
const TAGS: Readonly<Record<number, string>> = {
  1: 's',
  2: 'n',
  3: 'n',
  4: 'n',
  5: 'ns',
  6: 'nn',
  7: 'nnnss',
  9: 'n',
}

function apply(edit: Buffer, live: Set<number>): boolean {
  const reader = new Varints(edit)
  while (!reader.atEnd) {
    const tag = reader.next()
    const shape = TAGS[tag]
    if (shape === undefined) return false
    const numbers: number[] = []
    for (const part of shape) {
      const number = reader.next()
      if (part === 's') reader.skip(number)
      else numbers.push(number)
      if (Number.isNaN(number)) return false
    }
    if (tag === 6) live.delete(elementAt(numbers, 1))
    if (tag === 7) live.add(elementAt(numbers, 1))
  }
  return true
}
