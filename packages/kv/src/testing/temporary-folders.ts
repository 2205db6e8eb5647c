// Driver: makes temporary folders for a test file, and removes them when the tests have ended.

import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
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

/**
 * Returns the paths that begin with `dir` and are open in this process, without `dir`. The list is empty if
 * the operating system does not list open files.
 */
export const openBelow = (dir: string): string[] =>
  process.platform !== 'linux'
    ? []
    : readdirSync('/proc/self/fd').flatMap((fd) => {
        try {
          const path = readlinkSync(`/proc/self/fd/${fd}`)
          return path.startsWith(dir) ? [path.slice(dir.length)] : []
        } catch {
          return []
        }
      })
