// Several workers, one of which leads for as long as it lives. When it dies, the next in the queue leads as soon as its lease is over; when
// it is stopped in peace, at once. (Leaders that have something to say to the others use store.elections: docs/elections.md.) Start it in
// several terminals, then stop the one that leads:
//   node examples/leader-among-workers.mjs ann [ws://127.0.0.1:7001 ...]
import { once } from 'node:events'
import { connect, isLatchkeyError } from 'latchkey'

const [name = 'ann', ...urls] = process.argv.slice(2)
const store = await connect(urls.length > 0 ? urls : ['ws://127.0.0.1:7001'])
// close() tells the work to stop (by the signal), releases the lock, and ends the wait of those that do not lead.
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
 * Whatever only one may do, until the signal says that another one may lead. Give the term along to what you write to.
 * @param {AbortSignal} signal
 */
async function lead(signal) {
  if (!signal.aborted) await once(signal, 'abort')
}
