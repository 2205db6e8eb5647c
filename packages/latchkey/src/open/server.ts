// Driver: the port of an embedded member: WebSockets of members and clients, nothing else.

import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { serverTls } from '@latchkey/raft'
import type { TlsOptions } from './options.js'

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

export interface OwnServer {
  close(): Promise<void>
}

/** Certificates are asked for and judged at the members' door: clients need none. */
export const makeServer = (tls: TlsOptions | undefined): Server =>
  tls === undefined ? createServer() : createSecureServer(serverTls(tls))

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
  // A connection that could not be accepted (too many open files) is its caller's matter, not the process's end.
  server.on('error', () => {})
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
