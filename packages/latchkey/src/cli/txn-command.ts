// Driver: `latchkey txn`, which runs a transaction from a file. The file has the JSON of the argument of
// `store.txn`.

import type { Txn } from '@latchkey/protocol'
import { type Command, UsageError, words } from './command-description-and-parser.js'
import { EXIT, explain } from './exit-codes.js'
import type { Io } from './command-io-interface.js'
import { field, jsonLine } from './print-values.js'
import { STORE_OPTIONS, withStore } from './store-connection-of-command.js'

export const txn: Command = {
  name: 'txn',
  usage: '[FILE]',
  summary: 'Run a transaction from a JSON file, or from standard input.',
  notes: `The file contains { "when": [conditions], "then": [operations], "else": [operations] }, like the argument of store.txn, with
keys and values as text. If all conditions are true, the cluster applies "then", otherwise "else", in one atomic step. The
command prints the result as JSON.
exit codes: 0 all conditions were true; 1 a condition was false.`,
  options: { ...STORE_OPTIONS },
  examples: [
    'latchkey txn reserve.json',
    `echo '{"when":[{"key":"n","is":"<","value":9,"as":"number"}],"then":[{"type":"increment","key":"n"}]}' | latchkey txn`,
  ],
  async run(line, io) {
    const [file] = words(line, 0, 1)
    const given = parsed(file, await content(file, io))
    return withStore(line, io, async ({ store, call }) => {
      const { succeeded, revision, results } = await store.txn(given, { ...call, as: 'bytes' })
      io.out(jsonLine({ succeeded, revision, results: results.map(shown) }))
      return succeeded ? EXIT.ok : EXIT.failure
    })
  },
}

async function content(file: string | undefined, io: Io): Promise<string> {
  if (file === undefined || file === '-') return Buffer.from(await io.stdin()).toString('utf8')
  try {
    return io.readFile(file)
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${explain(error)}`, { cause: error })
  }
}

/** The store checks the fields of the transaction later. */
function parsed(file = 'standard input', text: string): Txn {
  try {
    return JSON.parse(text) as Txn
  } catch (error) {
    throw new UsageError(`${file} is no JSON: ${explain(error)}`, { cause: error })
  }
}

function shown(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || !('value' in result)) return result ?? null
  const { value, ...rest } = result
  return { ...field('value', value as Uint8Array), ...rest }
}
