// Driver: the port of an embedded member: WebSockets of members and clients, nothing else.

import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { serverTls } from '@latchkey/raft'
import { listenTrouble } from './listen-trouble.js'
import type { Listen, TlsOptions } from './options.js'

export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

export interface OwnServer {
  close(): Promise<void>
}

/** Certificates are asked for and judged at the members' door: clients need none. A TypeError where they cannot be read. */
export function makeServer(tls: TlsOptions | undefined): Server {
  if (tls === undefined) return createServer()
  try {
    return createSecureServer(serverTls(tls))
  } catch (cause) {
    throw new TypeError(`tls: the certificate or its key cannot be used: ${(cause as Error).message}`, {
      cause,
    })
  }
}

export async function listen(at: Listen, tls: TlsOptions | undefined, upgrade: Upgrade): Promise<OwnServer> {
  const server = makeServer(tls)
  server.on('request', (_, response) => response.writeHead(404).end())
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy())
    upgrade(request, socket, head)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(listenTrouble(at, error)))
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
