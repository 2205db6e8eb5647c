// A payment provider calls back, sometimes twice and at two workers at once. The order must be charged once.
//   node examples/payment-callback.mjs [ws://127.0.0.1:7001 ...]
import { connect } from 'latchkey'

const store = await connect(
  process.argv.slice(2).length > 0 ? process.argv.slice(2) : ['ws://127.0.0.1:7001'],
)
let charges = 0

async function onCallback(worker, order) {
  return store.locks.withLock(`orders/${order}`, { lease: '10s', wait: '30s' }, async (hold) => {
    const state = await hold.kv.get(`orders/${order}/state`, { as: 'string' })
    if (state === 'charged') return `${worker}: order ${order} is charged already`
    await charge(order, hold.signal)
    // Refused with ERR_FENCED if this worker was paused for so long that it is not the holder any more.
    await hold.kv.put(`orders/${order}/state`, 'charged')
    return `${worker}: order ${order} charged, token ${hold.token}`
  })
}

async function charge(_order, signal) {
  await new Promise((resolve) => setTimeout(resolve, 50))
  signal.throwIfAborted()
  charges++
}

const order = `${Date.now()}`
for (const line of await Promise.all(['ann', 'bob', 'cem'].map((worker) => onCallback(worker, order))))
  console.log(line)
console.log(`charged ${charges} time(s)`)
await store.close()
