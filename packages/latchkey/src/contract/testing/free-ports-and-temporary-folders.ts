// Driver: free ports and temporary folders for tests, and the end of what a test has opened. The folders are
// deleted after the test file.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach } from 'vitest'

export { freePorts } from '../../open/testing/free-ports.js'

/** Returns a function that returns a new folder at each call. */
export function tempFolders(): () => string {
  const root = mkdtempSync(join(tmpdir(), 'latchkey-contract-'))
  afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }))
  let made = 0
  return () => join(root, `${++made}`)
}

/** Returns a function that closes its argument after the test. What was opened last is closed first. */
export function closedAfterEach(): <T extends { close(): Promise<void> }>(thing: T) => T {
  const opened: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const thing of opened.splice(0).reverse()) await thing.close()
  })
  return (thing) => {
    opened.push(thing)
    return thing
  }
}
