// Driver: reads the version of the package `latchkey` from package.json. The file is read only once.

import { readFileSync } from 'node:fs'

let known: string | undefined

export function latchkeyVersion(): string {
  known ??= read()
  return known
}

function read(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
