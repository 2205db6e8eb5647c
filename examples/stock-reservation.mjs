// Many shops sell from one stock, and never sell more than the stock. Only one shop at a time may count the stock again.
//   npx latchkey put stock/apples 10
//   node examples/stock-reservation.mjs shop-1 [ws://127.0.0.1:7001 ...]       sells one by one until none is left
//   COUNTED=12 node examples/stock-reservation.mjs count [ws://127.0.0.1:7001 ...]
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, isLatchkeyError } from 'latchkey'

const [who = 'shop-1', ...urls] = process.argv.slice(2)
const store = await connect(urls.length > 0 ? urls : ['ws://127.0.0.1:7001'], { as: 'string' })

/**
 * If the stock has enough items, one atomic step takes `count` items and adds them to the number that this shop has sold. The cluster
 * applies the step once or not at all, even if a message is lost.
 * @param {string} item
 * @param {number} count
 */
async function reserve(item, count) {
  const { succeeded } = await store.txn({
    when: [{ key: `stock/${item}`, as: 'number', is: '>', value: count - 1 }],
    then: [
      { type: 'increment', key: `stock/${item}`, by: -count },
      { type: 'increment', key: `reserved/${item}/${who}`, by: count },
    ],
  })
  return succeeded
}

/**
 * Counts the stock under a lock, because counting takes long and two shops would overwrite each other's result. If a shop loses the lock
 * during a pause, its result is too old, and the store refuses the write.
 * @param {string} item
 */
async function count(item) {
  return store.locks.withLock(`counting/${item}`, { lease: '2s', wait: '1m' }, async (hold) => {
    console.log('counts')
    await sleep(Number(process.env.WORK_MS ?? 100))
    await hold.kv.put(`stock/${item}`, process.env.COUNTED ?? '12')
  })
}

if (who === 'count') {
  await count('apples').then(
    () => console.log('counted'),
    (error) => console.log(`not counted: ${isLatchkeyError(error) ? error.code : error}`),
  )
} else {
  let sold = 0
  while (await reserve('apples', 1)) sold++
  console.log(`${who} sold ${sold}`)
}
await store.close()
