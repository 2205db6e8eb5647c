// Driver: writes docs/errors.md from the one error table, packages/protocol/src/errors.ts (built first).

import { existsSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const PLACE = 'docs/errors.md'

const HEAD = `# Errors

This page lists all error codes. The page is for developers who handle errors of Latchkey.

The script \`node scripts/errors-doc.mjs\` writes this page from the table in \`packages/protocol/src/errors.ts\`. Edit the table there.

Every error of a call is a \`LatchkeyError\` with one of these codes, or a \`TypeError\` without a code. A \`TypeError\` means a
mistake in the program, and Latchkey sends nothing in this case. Your program can rely on the code, but the message may change.

- \`code\` is one of the names below.
- \`retryable\` says whether the same call may succeed later.
- \`outcome\` says what happened to the call. With \`not-applied\`, the call certainly changed nothing. With \`unknown\`, the cluster
  may have applied the call, so read the state before you decide.
- The column "outcome" has the usual outcome, but each error object has its own outcome. For example, a write that was aborted after it was sent has
  the code \`ERR_ABORTED\` and the outcome \`unknown\`.
- \`cause\` is the error that caused this error, if such an error exists.

The column "fields" names the further fields of an error. The body of an HTTP answer has the same fields.

- \`key\` is the key of the lock: of a wait that ended without the lock, of a hold that is over, or of the guard of a
  refused write. For a semaphore, a latch or a barrier, \`key\` is the name. The key is text if its bytes are UTF-8 or if it was given as
  text.
- For \`ERR_NOT_A_NUMBER\`, \`key\` is the key of the \`increment\`. For \`ERR_UNDECODABLE\`, \`key\` is the key of the
  value, as text.
- \`token\` is the fencing token of the hold that is over, or of the guard.
- \`holder\` is the holder of the lock, \`{ id, context, fencingToken, remainingMillis, sinceMillis }\`, at the end of the wait
  or at the entry that refused the guard. The field is missing if nobody held the lock.
- \`owner\` is the lock's \`Owner\` if another caller holds the lock during an unlock.
- \`waitedMillis\` is the length of a wait for a lock.
- \`leader\` is the id of the last leader that the store knows, for a call that ended without an answer. With \`ERR_NO_LEADER\`,
  this member no longer leads or does not answer. With other codes, this member may still lead. The field is missing if the store never knew
  a leader.
- \`missing\` has the ids of the members that the asked member cannot reach, while there is no leader.
- \`revision\` is the revision of the write of the value, if it is known.
- \`present\` is the number of permits of the semaphore, or the number of parties that the waiting callers gave to the
  barrier.
- \`circle\` has the flows that would wait for each other, each as \`{ flow, key }\`. \`key\` is the lock that the flow waits for. The
  caller's flow is first.
- \`clusters\` has the addresses of each cluster, by the cluster's id.

| code | retryable | outcome | fields | meaning, and what to do |
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
