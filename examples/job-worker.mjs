// Workers that share a list of jobs. A watchdog keeps the lock of a job alive for as long as its worker lives. Put jobs, start workers:
//   npx latchkey put jobs/1 'send the mail'
//   node examples/job-worker.mjs ann [ws://127.0.0.1:7001 ...]
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, isLatchkeyError, Watchdog } from 'latchkey'

const [name = 'ann', ...urls] = process.argv.slice(2)
const store = await connect(urls.length > 0 ? urls : ['ws://127.0.0.1:7001'], { as: 'string' })
const watchdog = new Watchdog() // renews the locks that were made with it
watchdog.on('lost', ({ error }) => console.log(`${name} lost a lock: ${error.code}`))

let stopping = false
process.once('SIGTERM', () => (stopping = true))
while (!stopping) {
  for (const { key } of await store.scan({ prefix: 'jobs/', keysOnly: true }))
    if (!stopping) await tryJob(key)
  await sleep(200)
}
watchdog.close()
await store.close()

/** @param {string} job */
async function tryJob(job) {
  const lock = store.getDistributedLock(`locks/${job}`, '2s', watchdog)
  if (!(await lock.tryLock({ context: name }))) return // another worker is at it
  try {
    const text = await store.get(job)
    if (text === undefined) return // it was done while we read the list
    console.log(`${name} works on ${job}`)
    await work(text, lock.signal)
    // The job goes and its result is written in one step, and only if this worker still has the lock.
    const guard = { key: `locks/${job}`, token: lock.getFencingToken() }
    await store.batch(
      [
        { type: 'delete', key: job },
        { type: 'increment', key: `done/${job}` },
      ],
      { guard },
    )
    console.log(`${name} has done ${job}`)
  } catch (error) {
    console.log(`${name} gives ${job} up: ${isLatchkeyError(error) ? error.code : String(error)}`)
  } finally {
    await lock.unlock().catch(() => {}) // a lock that was lost needs none
  }
}

/**
 * @param {string} _text
 * @param {AbortSignal} signal
 */
async function work(_text, signal) {
  for (let i = 0; i < 10; i++) {
    signal.throwIfAborted() // with ERR_LOCK_LOST
    await sleep(Number(process.env.WORK_MS ?? 500) / 10)
  }
}
