// Driver: changes bits in the files of a store, for tests of damaged disks.

import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '@latchkey/base'

/** Changes one to four bytes somewhere in the files of the state. Larger files are changed more often. */
export function damage(folder: string, random: Random): string {
  const names = readdirSync(folder).filter((name) =>
    /\.(ldb|log)$|^MANIFEST|^CURRENT$|^rows-journal-/.test(name),
  )
  const files = names
    .map((name) => ({ name, bytes: readFileSync(join(folder, name)) }))
    .filter(({ bytes }) => bytes.length > 0)
  const total = files.reduce((sum, { bytes }) => sum + bytes.length, 0)
  let at = random.between(0, total)
  const file = random.chance(0.3) ? random.pick(files) : files.find(({ bytes }) => (at -= bytes.length) < 0)
  const { name, bytes } = file as (typeof files)[number]
  const from = random.between(0, bytes.length)
  for (let i = 0; i < random.between(1, 5); i++) {
    const place = Math.min(bytes.length - 1, from + i)
    bytes[place] = (bytes[place] as number) ^ (1 << random.between(0, 8))
  }
  writeFileSync(join(folder, name), bytes)
  return `${name} at ${from}`
}
