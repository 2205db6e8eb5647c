// Driver: opens a server port for members only. Tests use this port, and so do programs that use this package
// without Latchkey's store.

import { uptime } from 'node:os'
import { endRefused, systemClock } from '@latchkey/base'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { MemberNetwork } from './member-network.js'
import { type MemberTls, serverTls } from './tls.js'

export interface Listener {
  readonly port: number
  readonly server: Server
  /** Resolves when the port and all connections are closed. */
  close(): Promise<void>
}

export async function listen(
  network: MemberNetwork,
  where: { readonly host: string; readonly port: number; readonly tls?: MemberTls | undefined },
): Promise<Listener> {
  const clock = systemClock(uptime)
  const server = where.tls === undefined ? createServer() : createTlsServer(serverTls(where.tls))
  server.on('request', (_request, response) => response.writeHead(426).end())
  server.on('upgrade', (request, socket, head) => {
    if (!network.upgrade(request, socket, head))
      endRefused(socket, 'HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n', clock)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(where.port, where.host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  return {
    port: (server.address() as AddressInfo).port,
    server,
    close: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  }
}
