// The handler of a web server charges an order under a lock. A payment provider may call several times, and may call any of your
// servers, but the order is charged once. Start the program in several terminals, then call it several times:
//   PORT=8081 node examples/payment-callback.mjs [ws://127.0.0.1:7001 ...]
//   curl -X POST http://127.0.0.1:8081/orders/42
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'latchkey'

const urls = process.argv.slice(2)
const store = await connect(urls.length > 0 ? urls : ['ws://127.0.0.1:7001'], { as: 'string' })

const server = createServer((request, response) => {
  const order = /^\/orders\/(\w+)$/.exec(request.url ?? '')?.[1]
  if (order === undefined || request.method !== 'POST') return void response.writeHead(404).end()
  onCallback(order).then(
    (text) => response.end(`${text}\n`),
    // Another server has the lock for longer than we wait, or there is no leader. The provider should call again later.
    (error) => response.writeHead(503, { 'retry-after': '1' }).end(`${error.code ?? error.message}\n`),
  )
})

/** @param {string} order */
function onCallback(order) {
  return store.locks.withLock(`orders/${order}`, { lease: '10s', wait: '2s' }, async (hold) => {
    if ((await hold.kv.get(`orders/${order}/state`)) === 'charged') return 'charged already'
    await chargeCard(order, hold.signal)
    // This write fails with ERR_FENCED if this server paused for so long that it has lost the lock.
    await hold.kv.put(`orders/${order}/state`, 'charged')
    return 'charged'
  })
}

/**
 * Charges the order at the payment provider. The signal aborts before the lock can be lost. Pass the number of the order to the provider
 * as its idempotency key. Otherwise the order may be charged twice if a server dies after this call and before it writes the state.
 * @param {string} order
 * @param {AbortSignal} signal
 */
async function chargeCard(order, signal) {
  await sleep(50, undefined, { signal })
  console.log(`charges order ${order}`)
}

server.listen(Number(process.env.PORT ?? 8081), '127.0.0.1', () => {
  const address = server.address()
  if (address !== null && typeof address === 'object') console.log(`listening on ${address.port}`)
})
process.once('SIGTERM', () => {
  server.close(() => void store.close())
})
