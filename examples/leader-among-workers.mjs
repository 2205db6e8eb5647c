// One of several workers leads as long as it lives. If the leader dies, the next worker in the queue leads after the end of the lease. If
// the leader is stopped by a signal, the next worker leads at once. If the leader must publish a value, use store.elections instead
// (docs/elections.md). Start the program in several terminals, then stop the leader:
//   node examples/leader-among-workers.mjs ann [ws://127.0.0.1:7001 ...]
import { once } from 'node:events'
import { connect, isLatchkeyError } from 'latchkey'

const [name = 'ann', ...urls] = process.argv.slice(2)
const store = await connect(urls.length > 0 ? urls : ['ws://127.0.0.1:7001'])
// close() aborts the signal of the hold, releases the lock, and ends the wait of a worker that does not lead.
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void store.close())

try {
  for (;;) {
    const hold = await store.locks.acquire('jobs/leader', { lease: '5s', context: name })
    console.log(`${name} leads, term ${hold.token}`)
    await lead(hold.signal)
    console.log(`${name} leads no more`)
  }
} catch (error) {
  if (!isLatchkeyError(error, 'ERR_CLOSED')) throw error
}

/**
 * Does the work that only the leader may do, until the signal aborts. Pass the token of the hold to other systems, so that they can
 * refuse a former leader.
 * @param {AbortSignal} signal
 */
async function lead(signal) {
  if (!signal.aborted) await once(signal, 'abort')
}
