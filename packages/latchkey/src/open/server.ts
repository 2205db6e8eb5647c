// Driver: the port of an embedded member: WebSockets of members and clients, nothing else.

import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Duplex } from 'node:stream'
import type { TlsOptions } from './options.js'

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

export interface OwnServer {
  close(): Promise<void>
}

const pem = (value: string | Uint8Array) => (typeof value === 'string' ? value : Buffer.from(value))

/** Certificates are asked for and judged at the members' door: clients need none. */
export function makeServer(tls: TlsOptions | undefined): Server {
  if (tls === undefined) return createServer()
  const { cert, key, ca } = tls
  return createSecureServer({
    cert: pem(cert),
    key: pem(key),
    ...(ca === undefined ? {} : { ca: pem(ca), requestCert: true, rejectUnauthorized: false }),
    minVersion: 'TLSv1.2',
  })
}

export async function listen(
  at: { readonly host: string; readonly port: number },
  tls: TlsOptions | undefined,
  upgrade: Upgrade,
): Promise<OwnServer> {
  const server = makeServer(tls)
  server.on('request', (_, response) => response.writeHead(404).end())
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    upgrade(request, socket, head)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(at.port, at.host, resolve)
  })
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
