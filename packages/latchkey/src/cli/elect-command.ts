// Driver: `latchkey elect`, which runs a command while this process leads an election.

import { type Command, text } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import { printable } from './print-values.js'
import { heldUnlessBusy, RUN_NOTES, RUN_OPTIONS, runOf, runWhileHeld } from './run-command-while-held.js'
import { STORE_OPTIONS, withStore } from './store-connection-of-command.js'

export const elect: Command = {
  name: 'elect',
  usage: 'NAME [--value TEXT] [--lease 10s] [--wait 30s] -- CMD ARGS...',
  summary: 'Run CMD while this process leads an election. When CMD has ended, the next candidate leads.',
  notes: RUN_NOTES,
  options: {
    value: {
      type: 'string',
      value: 'TEXT',
      help: 'a text of this leader that other processes can read, for example an address',
    },
    ...RUN_OPTIONS,
    ...STORE_OPTIONS,
  },
  examples: ['latchkey elect scheduler --value "$(hostname)" -- ./scheduler'],
  async run(line, io) {
    const run = runOf(line, 'elect', 'NAME')
    const { name, lease, wait } = run
    const value = text(line, 'value')
    return withStore(line, io, async ({ store }) => {
      const terms = { lease, value, wait: wait === 0 ? 1 : wait, signal: io.interrupted }
      const hold = await heldUnlessBusy(store, run, store.elections.campaign(name, terms))
      if (hold !== undefined) return runWhileHeld({ hold, name, what: 'the leadership' }, run, io)
      const leader = await store.elections.leader(name).catch(() => undefined)
      const who = leader?.value === undefined ? '' : `: ${printable(leader.value)}`
      io.err(`latchkey: another leads ${JSON.stringify(name)}${who}\n`)
      return EXIT.busy
    })
  },
}
