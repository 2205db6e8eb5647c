// A web server whose handler does its work under a lock: a payment provider calls back, often twice, and reaches any of your servers.
// The order is charged once. Start it in several terminals, then call it a few times:
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
    // Another server works on this order for longer than we wait, or nobody can be asked: the provider shall come again.
    (error) => response.writeHead(503, { 'retry-after': '1' }).end(`${error.code ?? error.message}\n`),
  )
})

/** @param {string} order */
function onCallback(order) {
  return store.locks.withLock(`orders/${order}`, { lease: '10s', wait: '2s' }, async (hold) => {
    if ((await hold.kv.get(`orders/${order}/state`)) === 'charged') return 'charged already'
    await chargeCard(order, hold.signal)
    // ERR_FENCED if this server stood still for so long that it is not the holder any more.
    await hold.kv.put(`orders/${order}/state`, 'charged')
    return 'charged'
  })
}

/**
 * The signal aborts in time when the lock may be lost. Give the provider the order's number as its idempotency key: a server that dies
 * between this call and the next line has charged, and nobody knows.
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
