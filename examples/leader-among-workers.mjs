// Several workers, one of which does a job as long as it lives; when it dies or is paused, the next in the queue goes on.
//   node examples/leader-among-workers.mjs [ws://127.0.0.1:7001 ...]
import { connect } from 'latchkey'

const urls = process.argv.slice(2).length > 0 ? process.argv.slice(2) : ['ws://127.0.0.1:7001']

async function worker(name, resignAfter) {
  const store = await connect(urls)
  const hold = await store.locks.acquire('jobs/leader', { lease: '2s', context: name })
  console.log(`${name} leads, term ${hold.token}`)
  // Work goes on until the hold is lost, or until it has had enough.
  await new Promise((resolve) => {
    const timer = setTimeout(resolve, resignAfter)
    hold.signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true })
  })
  console.log(`${name} steps down`)
  await hold.release()
  await store.close()
}

await Promise.all([worker('ann', 300), worker('bob', 300), worker('cem', 300)])
