// A stock that many shops sell from, never more than there is, and that one at a time may count anew.
//   npx latchkey put stock/apples 10
//   node examples/stock-reservation.mjs shop-1 [ws://127.0.0.1:7001 ...]       sells one by one until none is left
//   COUNTED=12 node examples/stock-reservation.mjs count [ws://127.0.0.1:7001 ...]
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, isLatchkeyError } from 'latchkey'

const [who = 'shop-1', ...urls] = process.argv.slice(2)
const store = await connect(urls.length > 0 ? urls : ['ws://127.0.0.1:7001'], { as: 'string' })

/**
 * One step: if so many are left they are taken, and the shop's own count says so. Whatever is lost on the way, it happens once or not at all.
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
 * Counting takes long, and two that count at once would write over each other. The lock lets one do it, and the guard refuses one that fell
 * asleep over it: its number is out of date.
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
