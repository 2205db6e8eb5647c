// A job that every worker starts at the same minute, and that one of them does. Start it in several terminals at once:
//   node examples/cron-once.mjs [ws://127.0.0.1:7001 ...]
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'latchkey'

const urls = process.argv.slice(2)
const store = await connect(urls.length > 0 ? urls : ['ws://127.0.0.1:7001'], { as: 'string' })
const minute = new Date().toISOString().slice(0, 16)
const mark = `cron/report/${process.env.MINUTE ?? minute}`

// The others wait until the one that works is done. If it dies, its lease ends, and the next one in the queue does the job.
const line = await store.locks.withLock('cron/report', { lease: '3s', wait: '1m' }, async (hold) => {
  const doneBy = await hold.kv.get(mark)
  if (doneBy !== undefined) return `the report was written by ${doneBy}`
  await writeReport(hold.signal)
  // The mark comes last. It is refused if this worker was paused for so long that another one has the lock. It goes after a day.
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
