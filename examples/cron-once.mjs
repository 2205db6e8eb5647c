// All workers start a job at the same minute, but only one of them does the job. Start the program in several terminals at once:
//   node examples/cron-once.mjs [ws://127.0.0.1:7001 ...]
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'latchkey'

const urls = process.argv.slice(2)
const store = await connect(urls.length > 0 ? urls : ['ws://127.0.0.1:7001'], { as: 'string' })
const minute = new Date().toISOString().slice(0, 16)
const mark = `cron/report/${process.env.MINUTE ?? minute}`

// The other workers wait until the job is done. If the worker with the lock dies, its lease ends, and the next worker in the queue
// does the job.
const line = await store.locks.withLock('cron/report', { lease: '3s', wait: '1m' }, async (hold) => {
  const doneBy = await hold.kv.get(mark)
  if (doneBy !== undefined) return `the report was written by ${doneBy}`
  await writeReport(hold.signal)
  // The worker marks the job as done only after the work. If the worker has lost its lock during a pause, the store refuses this write.
  // The mark is deleted after a day.
  await hold.kv.put(mark, `process ${process.pid}`, { ttl: '24h' })
  return 'done'
})
console.log(line)
await store.close()

/** @param {AbortSignal} signal */
async function writeReport(signal) {
  console.log('writes the report')
  await sleep(Number(process.env.WORK_MS ?? 100), undefined, { signal })
}
