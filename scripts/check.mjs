// Driver: the one gate. Runs every check, or those named on the command line. Exits with 1 when anything was found.

import { fileURLToPath } from 'node:url'
import * as docs from './check/docs.mjs'
import { Files } from './check/files.mjs'
import * as floors from './check/floors.mjs'
import * as kinds from './check/kinds.mjs'
import * as laws from './check/laws.mjs'
import * as lengths from './check/lengths.mjs'
import * as lock from './check/lockfile.mjs'
import * as manifests from './check/manifests.mjs'
import * as purity from './check/purity.mjs'
import { format, lint, types } from './check/tools.mjs'
import * as words from './check/words.mjs'

const CHECKS = {
  types,
  lint,
  format,
  floors,
  purity,
  manifests,
  lock,
  kinds,
  lengths,
  words,
  docs,
  laws,
}

const names = process.argv.slice(2)
const unknown = names.filter((name) => !Object.hasOwn(CHECKS, name))
if (unknown.length > 0) {
  console.error(`no check named ${unknown.join(', ')}; there are: ${Object.keys(CHECKS).join(' ')}`)
  process.exit(2)
}

const files = new Files(fileURLToPath(new URL('..', import.meta.url)))
const failed = []
for (const name of names.length > 0 ? names : Object.keys(CHECKS)) {
  const { title, check } = CHECKS[name]
  console.log(`+ ${title}`)
  const { problems, notes = [] } = await check(files)
  for (const note of notes) console.log(`  ${note}`)
  for (const problem of problems) console.error(`  ${problem}`)
  if (problems.length > 0) failed.push(`${name} (${problems.length})`)
}
console.log(failed.length === 0 ? 'check: all is well' : `check: failed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1
