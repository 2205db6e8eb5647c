// Driver: free ports and temporary folders, gone after the test file.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

export async function freePorts(amount: number): Promise<number[]> {
  const servers = Array.from({ length: amount }, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ports.push((server.address() as { port: number }).port)
  }
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** A new folder at each call of what it returns; all are removed when the file is done. */
export function tempFolders(): () => string {
  const root = mkdtempSync(join(tmpdir(), 'latchkey-contract-'))
  afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }))
  let made = 0
  return () => join(root, `${++made}`)
}
