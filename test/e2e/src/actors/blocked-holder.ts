// Driver: a process that holds a lock, renewed, and then blocks its event loop. What it finds in its first
// instructions after waking, it prints as one line of JSON. The block ends when the file END exists. Arguments:
// KEY LEASE END URL...

import { existsSync } from 'node:fs'
import { connect, type Duration } from '@latchkey/client'

const [key = '', lease = '', end = '', ...urls] = process.argv.slice(2)
const store = await connect(urls)
const hold = await store.locks.acquire(key, { lease: lease as Duration })
const { signal } = hold
let fired = false
signal.addEventListener('abort', () => {
  fired = true
})
console.log(JSON.stringify({ token: hold.token, held: hold.held }))
// A turn, so that the line is out before the loop stands still.
await new Promise((resolve) => setTimeout(resolve, 50))
const nobody = new Int32Array(new SharedArrayBuffer(4))
while (!existsSync(end)) Atomics.wait(nobody, 0, 0, 20)
const seen = { held: hold.held, remaining: hold.remainingMillis(), aborted: signal.aborted, fired }
const guarded = await hold.kv.put('account', 'the blocked one').then(
  () => 'applied',
  (error: { code: string }) => error.code,
)
const byToken = await store.put('account', 'the blocked one', { guard: { key, token: hold.token } }).then(
  () => 'applied',
  (error: { code: string }) => error.code,
)
console.log(JSON.stringify({ ...seen, guarded, byToken }))
await store.close()
