// Every process follows the same settings: it reads the present settings, and then learns each change in order, even after a
// reconnect. Start the program, then change a setting:
//   node examples/config-watch.mjs [ws://127.0.0.1:7001 ...]
//   npx latchkey put config/limit 20
import { connect } from 'latchkey'

const urls = process.argv.slice(2)
const store = await connect(urls.length > 0 ? urls : ['ws://127.0.0.1:7001'], { as: 'json' })
process.once('SIGTERM', () => void store.close())

/** @type {Map<string, unknown>} */
const config = new Map()
// A value that is not JSON must not stop all processes, so the watch returns such a value as bytes.
const watch = store.watch({ prefix: 'config/' }, { initial: true, resync: true, onUndecodable: 'bytes' })
try {
  for await (const event of watch) {
    if (event.type === 'reset')
      config.clear() // the members no longer have the missed events, so all present keys come again
    else if (event.type === 'synced') console.log(`in force: ${JSON.stringify(Object.fromEntries(config))}`)
    else if (event.type === 'delete') config.delete(event.key)
    else if (event.value instanceof Uint8Array) console.log(`${event.key} is no JSON, the old value stays`)
    else config.set(event.key, event.value)
    if (event.type === 'put' && !event.initial)
      console.log(`${event.key} is ${JSON.stringify(config.get(event.key))}`)
    if (event.type === 'delete') console.log(`${event.key} is gone`)
  }
} catch (error) {
  if (/** @type {{ code?: string }} */ (error).code !== 'ERR_CLOSED') throw error
}
