// Driver: writes docs/errors.md from the one error table, packages/protocol/src/errors.ts (built first).

import { existsSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const PLACE = 'docs/errors.md'

const HEAD = `# Errors

Made by \`node scripts/errors-doc.mjs\` from \`packages/protocol/src/errors.ts\`; edit the table there.

Everything a caller can meet is a \`LatchkeyError\` with one of these codes, or a \`TypeError\` without a code: a mistake in
the program, refused before anything is sent. The code is the contract; the message may change.

- \`code\`: one of the names below.
- \`retryable\`: the same call may succeed later, as it is.
- \`outcome\`: \`not-applied\`: the call certainly changed nothing. \`unknown\`: it may have been applied; read the state
  before deciding. The column shows the usual outcome; an error carries its own (a write that was aborted after it was
  sent is \`ERR_ABORTED\` with outcome \`unknown\`).
- \`cause\`: what lies behind it, where there is something.
- \`owner\`: of \`ERR_NOT_OWNER\`: who holds the lock.

| code | retryable | outcome | what it means, and what to do |
|---|---|---|---|
`

export function render(table) {
  const rows = Object.entries(table).map(
    ([code, { retryable, outcome, message }]) =>
      `| \`${code}\` | ${retryable ? 'yes' : 'no'} | ${outcome} | ${message} |`,
  )
  return `${HEAD}${rows.join('\n')}\n`
}

/** The table as it was last built; undefined before the first build. */
export async function builtTable(root) {
  const place = new URL('packages/protocol/dist/errors.js', pathToFileURL(`${root}/`))
  if (!existsSync(place)) return undefined
  return (await import(place.href)).ERRORS
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const table = await builtTable(root)
  if (table === undefined) throw new Error("nothing is built yet: run 'npx tsc -b packages/protocol' first")
  writeFileSync(new URL(`../${PLACE}`, import.meta.url), render(table))
  console.log(`wrote ${PLACE}, ${Object.keys(table).length} codes`)
}
