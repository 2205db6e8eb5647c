// Driver: asks the member in this container whether it lives, with TLS or without: exit 0 or 1. HEALTH_PORT where it is not 7001.
import http from 'node:http'
import https from 'node:https'

const port = process.env.HEALTH_PORT ?? /:(\d+)$/.exec(process.env.LATCHKEY_LISTEN ?? '')?.[1] ?? 7001
const ask = ({ get }) =>
  new Promise((resolve) => {
    // On loopback, and nothing is told: whose certificate it is does not matter.
    const options = { host: '127.0.0.1', port, path: '/livez', timeout: 1000, rejectUnauthorized: false }
    const request = get(options, (response) => resolve(response.resume().statusCode === 200))
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(false))
  })

process.exit((await ask(http)) || (await ask(https)) ? 0 : 1)
