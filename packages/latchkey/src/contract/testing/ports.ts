// Driver: free ports and temporary folders for tests. The folders are deleted after the test file.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

export { freePorts } from '../../open/testing/ports.js'

/** Returns a function that returns a new folder at each call. */
export function tempFolders(): () => string {
  const root = mkdtempSync(join(tmpdir(), 'latchkey-contract-'))
  afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }))
  let made = 0
  return () => join(root, `${++made}`)
}
