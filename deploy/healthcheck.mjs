// Driver: asks the member in this container whether it is alive, with or without TLS. Exits with 0 if it is, and with 1 otherwise.
// The port is HEALTH_PORT, or the port in LATCHKEY_LISTEN, or 7001.
import http from 'node:http'
import https from 'node:https'

const port = process.env.HEALTH_PORT ?? /:(\d+)$/.exec(process.env.LATCHKEY_LISTEN ?? '')?.[1] ?? 7001
const ask = ({ get }) =>
  new Promise((resolve) => {
    // The request stays on loopback and carries no secret, so the certificate of the member does not matter.
    const options = { host: '127.0.0.1', port, path: '/livez', timeout: 1000, rejectUnauthorized: false }
    const request = get(options, (response) => resolve(response.resume().statusCode === 200))
    request.once('timeout', () => request.destroy())
    request.once('error', () => resolve(false))
  })

process.exit((await ask(http)) || (await ask(https)) ? 0 : 1)
