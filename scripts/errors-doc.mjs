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

The column "fields" names what an error of that code has besides, where it applies. In the body of an HTTP answer they stand
under the same names.

- \`key\`: the lock's key: of a wait for a lock that ended without it, of a hold that is over, of the guard of a refused write; of a
  semaphore, a latch or a barrier its name. It is text where its bytes are UTF-8, or as it was given. Of \`ERR_NOT_A_NUMBER\` the key of an \`increment\`, of \`ERR_UNDECODABLE\` the key of the value, as text.
- \`token\`: the fencing token of the hold that is over, or of the guard.
- \`holder\`: who holds the lock, \`{ id, context, fencingToken, remainingMillis, sinceMillis }\`: when a wait ended without it,
  or at the entry that refused a guard. It is absent where nobody does.
- \`owner\`: of an unlock, the lock's \`Owner\`, where another holds it.
- \`waitedMillis\`: of a wait for a lock: how long it was.
- \`leader\`: of a call that ended without an answer: the id of the member that led last, as far as the store has been told. Of
  \`ERR_NO_LEADER\` it leads no more or is not reached; of the others it may lead. Absent: no leader was ever known.
- \`missing\`: while nobody leads: the ids of the members that the asked one does not reach.
- \`revision\`: of the write of the value, where that is known.
- \`present\`: how many permits a semaphore has, or for how many parties others wait at a barrier, where another number was named.
- \`circle\`: the flows that would wait for each other, \`{ flow, key }\` each, with the key that it waits for; the first is the caller's.
- \`clusters\`: the addresses of each cluster that was met, by its id.

| code | retryable | outcome | fields | what it means, and what to do |
|---|---|---|---|---|
`

const namesOf = (fields) => fields.map((name) => `\`${name}\``).join(', ')

export function render(table) {
  const rows = Object.entries(table).map(
    ([code, { retryable, outcome, message, fields }]) =>
      `| \`${code}\` | ${retryable ? 'yes' : 'no'} | ${outcome} | ${namesOf(fields)} | ${message} |`,
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
