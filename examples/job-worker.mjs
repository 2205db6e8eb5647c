// Several workers share a list of jobs. A watchdog renews the lock of a job as long as its worker lives. Put a job, then start workers:
//   npx latchkey put jobs/1 'send the mail'
//   node examples/job-worker.mjs ann [ws://127.0.0.1:7001 ...]
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, isLatchkeyError, Watchdog } from 'latchkey'

const [name = 'ann', ...urls] = process.argv.slice(2)
const store = await connect(urls.length > 0 ? urls : ['ws://127.0.0.1:7001'], { as: 'string' })
const watchdog = new Watchdog() // renews the locks of the lock objects that get this watchdog
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
  const lock = store.getDistributedLock(`locks/${job}`, '8s', watchdog)
  if (!(await lock.tryLock({ context: name }))) return // another worker does this job
  try {
    const text = await store.get(job)
    if (text === undefined) return // another worker has finished this job since we read the list
    console.log(`${name} works on ${job}`)
    await work(text, lock.signal)
    // One step deletes the job and counts it as done. The store refuses this step if the worker has lost the lock.
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
    await lock.unlock().catch(() => {}) // the unlock fails if the lock was lost
  }
}

/**
 * @param {string} _text
 * @param {AbortSignal} signal
 */
async function work(_text, signal) {
  for (let i = 0; i < 10; i++) {
    signal.throwIfAborted() // throws ERR_LOCK_LOST when the lock is lost
    await sleep(Number(process.env.WORK_MS ?? 500) / 10)
  }
}
