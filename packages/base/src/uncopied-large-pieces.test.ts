// Test: bytes that are kept in several parts, without a copy of the large parts, equal the joined bytes.

import { expect, test } from 'vitest'
import { type Apart, withApart } from './uncopied-large-pieces.js'
import { seededRandom } from './seeded-random.js'

test('the parts in a row are the buffer with each large piece in its place', () => {
  const random = seededRandom('apart')
  for (let round = 0; round < 500; round++) {
    const buffer = Buffer.alloc(30, 'abcdefghijklmnopqrstuvwxyz')
    const from = random.between(0, 10)
    const end = random.between(from, 30)
    const places = Array.from({ length: random.between(0, 4) }, () => random.between(from, end + 1))
    const apart = places.sort((a, b) => a - b).map((at, i): Apart => ({ at, data: Buffer.from(`<${i}>`) }))
    let wanted = ''
    for (let at = from; at <= end; at++) {
      for (const piece of apart) if (piece.at === at) wanted += piece.data.toString()
      if (at < end) wanted += String.fromCharCode(buffer[at] as number)
    }
    const parts = withApart(buffer, from, end, apart)
    expect(Buffer.concat(parts).toString()).toBe(wanted)
    for (const { data } of apart) expect(parts).toContain(data)
  }
})
