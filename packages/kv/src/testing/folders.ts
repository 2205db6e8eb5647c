// Driver: makes temporary folders for a test file, and removes them when the tests have ended.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export class Folders {
  #made: string[] = []

  make(): string {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-kv-'))
    this.#made.push(folder)
    return folder
  }

  removeAll(): void {
    for (const folder of this.#made) rmSync(folder, { recursive: true, force: true })
    this.#made = []
  }
}
