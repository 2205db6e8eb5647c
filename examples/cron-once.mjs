// A job that every worker starts at the same minute, and that must run once per cluster and minute.
//   node examples/cron-once.mjs [ws://127.0.0.1:7001 ...]
import { connect } from 'latchkey'

const store = await connect(
  process.argv.slice(2).length > 0 ? process.argv.slice(2) : ['ws://127.0.0.1:7001'],
)

/**
 * Whoever writes the minute first runs the job; a retry after a lost answer is still the same writer. At most once: a worker that
 * dies in the middle leaves it undone. Where that matters, run it in withLock and write the mark last (payment-callback.mjs).
 */
async function oncePerMinute(job, minute, worker, run) {
  const before = await store.putIfAbsent(`cron/${job}/${minute}`, worker, { as: 'string' })
  if (before !== undefined) return `${worker}: ${before} has it`
  await run()
  return `${worker}: done`
}

const minute = new Date().toISOString().slice(0, 16)
const workers = ['w1', 'w2', 'w3', 'w4']
const lines = await Promise.all(
  workers.map((worker) =>
    oncePerMinute('report', minute, worker, async () => console.log(`${worker} writes the report`)),
  ),
)
for (const line of lines) console.log(line)
await store.close()
