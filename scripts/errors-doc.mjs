// Driver: writes docs/errors.md from the one error table, packages/protocol/src/errors.ts (built first).

import { existsSync, writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const PLACE = 'docs/errors.md'

const HEAD = `# Errors

This page lists all error codes and the fields of an error. The page is for developers who handle errors of Latchkey.
The script \`node scripts/errors-doc.mjs\` writes this page from the table in \`packages/protocol/src/errors.ts\`.

If a call fails, the error is a \`LatchkeyError\` with one of these codes, or a \`TypeError\` without a code. A \`TypeError\` means that
the program made a mistake, and that Latchkey sent nothing. Your program may compare codes, but not messages, because messages may change.

Every \`LatchkeyError\` has these fields:

- \`code\` is one of the codes in the table.
- \`retryable\` says whether the same call may succeed later.
- \`outcome\` says whether the cluster applied the call. \`not-applied\` means that the call certainly changed nothing. \`unknown\` means that
  the cluster may have applied the call, so read the state before you decide what to do.
- \`cause\` is the error that caused this error, if there is one.

The column "outcome" shows the usual outcome of a code. A single error may have another outcome. For example, if a program aborts a write
that was already sent, the error has the code \`ERR_ABORTED\` and the outcome \`unknown\`.

Some codes have more fields, which the column "fields" names. The body of an HTTP answer has the same fields.

- \`key\` is the key of a lock. The caller waited for this lock or lost this lock, or the guard of the refused write names this lock.
  For a semaphore, a latch or a barrier, \`key\` is the name. \`key\` is a text if its bytes are UTF-8 or if the caller gave a text.
- For \`ERR_NOT_A_NUMBER\` and \`ERR_UNDECODABLE\`, \`key\` is the key of the stored value.
- \`token\` is the fencing token of the hold that has ended, or of the guard.
- \`holder\` is the holder of the lock at the end of the wait, or at the log entry that refused the guard:
  \`{ id, context, fencingToken, remainingMillis, sinceMillis }\`. If nobody held the lock, the field is missing.
- \`owner\` is the \`Owner\` of the lock, if an unlock fails because another caller holds the lock.
- \`waitedMillis\` says how long the caller waited for the lock.
- \`leader\` is the id of the last leader that the store knew when the call ended without an answer. If the store never knew a leader,
  the field is missing.
- \`missing\` lists the members that the asked member cannot reach while there is no leader.
- \`revision\` is the revision at which the value was written, if the store knows it.
- \`present\` is the number of permits that the semaphore has, or the number of parties with which the waiting callers entered the barrier.
- \`circle\` lists the flows that would wait for each other, each as \`{ flow, key }\`. \`key\` is the lock that the flow waits for.
  The first flow is the flow of the caller.
- \`clusters\` has the addresses of each cluster, by the ids of the clusters.

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
