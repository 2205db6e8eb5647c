// Driver: `latchkey bench`, which measures the user's own cluster and prints how fast it is, with margins of
// error.

import { type LoadResult, loadsUnder, measure } from './bench-loads.js'
import { type Command, positiveNumber, wholeNumber, words } from './command-description-and-parser.js'
import { EXIT } from './exit-codes.js'
import { jsonLine, table } from './print-values.js'
import { Progress } from './progress-display.js'
import { JSON_OPTION, STORE_OPTIONS, withStore } from './store-connection-of-command.js'

const PREFIX = 'latchkey-bench/'

export const bench: Command = {
  name: 'bench',
  usage: '[--seconds N] [--callers N]',
  summary: 'Measure the speed of locks, puts and linearizable gets of a running cluster.',
  notes: `The command writes keys that begin with ${PREFIX}, and deletes them at the end. It warms up each load before it measures.`,
  options: {
    seconds: { type: 'string', value: 'N', help: 'how long to measure each load, 5 by default' },
    callers: { type: 'string', value: 'N', help: 'how many calls run at the same time, 64 by default' },
    ...JSON_OPTION,
    ...STORE_OPTIONS,
  },
  examples: ['latchkey bench', 'latchkey bench --seconds 10 --callers 256 --json'],
  async run(line, io) {
    words(line, 0, 0)
    const seconds = positiveNumber(line, 'seconds') ?? 5
    const callers = wholeNumber(line, 'callers', 1) ?? 64
    return withStore(line, io, async ({ store, json, call }) => {
      const found: LoadResult[] = []
      const progress = new Progress(io)
      const clean = (options?: typeof call) => store.deleteRange(PREFIX, `${PREFIX.slice(0, -1)}0`, options)
      // This first deletion is also a test. Without the right to write, or without a leader, the deletion
      // fails before any measurement.
      await clean(call)
      try {
        for (const load of loadsUnder(PREFIX)) {
          const before = progress.seconds
          found.push(
            await progress.during(
              () => `${load.name}: ${progress.seconds - before} of ${seconds} s`,
              () => measure(load, store, callers, seconds, io.clock, call.signal),
            ),
          )
          call.signal.throwIfAborted()
        }
      } finally {
        await clean()
      }
      io.out(json ? jsonLine(found) : report(found))
      return found.every(({ samples }) => samples > 0) ? EXIT.ok : EXIT.failure
    })
  },
}

function report(found: readonly LoadResult[]): string {
  const head = ['load', 'callers', 'per second', 'p50 ms', 'p99 ms', 'max ms', 'samples', 'errors']
  const rows = found.map(({ name, callers, perSecond, p50, p99, max, samples, errors }) =>
    [name, callers, perSecond, p50, p99, max, samples, errors].map(String),
  )
  return table([head, ...rows])
}
