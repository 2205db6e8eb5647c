// Driver: `latchkey semaphore`, which runs a command while it holds permits of a semaphore.

import { type Command, text, UsageError, wholeNumber } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import { heldUnlessBusy, RUN_NOTES, RUN_OPTIONS, runOf, runWhileHeld } from './run-command-while-held.js'
import { STORE_OPTIONS, withStore } from './store-connection-of-command.js'

export const semaphore: Command = {
  name: 'semaphore',
  usage: 'NAME --of N [--permits 1] [--lease 10s] [--wait 30s] -- CMD ARGS...',
  summary: 'Run CMD while this process holds permits of a semaphore, which has N permits.',
  notes: RUN_NOTES,
  options: {
    of: {
      type: 'string',
      value: 'N',
      help: 'the number of permits of the semaphore; all callers must give the same number',
    },
    permits: { type: 'string', value: 'N', help: 'the number of permits that CMD needs, 1 by default' },
    ...RUN_OPTIONS,
    context: {
      type: 'string',
      value: 'TEXT',
      help: 'a text about the holder, which other callers see; default: host and process id',
    },
    ...STORE_OPTIONS,
  },
  examples: ['latchkey semaphore reports --of 5 -- ./report.sh'],
  async run(line, io) {
    const run = runOf(line, 'semaphore', 'NAME')
    const of = wholeNumber(line, 'of', 1)
    const permits = wholeNumber(line, 'permits', 1) ?? 1
    if (of === undefined) throw new UsageError('--of is missing: how many permits the semaphore has')
    if (permits > of) throw new UsageError(`--permits must be at most --of, which is ${of}; got ${permits}`)
    const { name, lease, wait } = run
    return withStore(line, io, async ({ store }) => {
      const terms = {
        of,
        permits,
        lease,
        context: text(line, 'context') ?? io.processName,
        signal: io.interrupted,
      }
      const { semaphores } = store
      const asked =
        wait === 0 ? semaphores.tryAcquire(name, terms) : semaphores.acquire(name, { ...terms, wait })
      const hold = await heldUnlessBusy(store, run, asked)
      if (hold !== undefined) return runWhileHeld({ hold, name, what: 'the permit' }, run, io)
      const when = wait ? ` within ${wait} ms` : ''
      io.err(`latchkey: ${permits} of ${of} permits of ${JSON.stringify(name)} were not free${when}\n`)
      return EXIT.busy
    })
  },
}
