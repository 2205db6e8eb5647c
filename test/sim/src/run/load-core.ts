// Driver: loads the core: the one under test, or a copy of the compiled packages with one line changed.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import * as real from '@latchkey/raft/core'
import type { CoreModule } from '../member/core-module.js'

type Exports = typeof real & { readonly checkInvariants?: (raft: real.Raft) => void }

const asModule = (exports: Exports): CoreModule => ({
  Raft: exports.Raft,
  decodeMembership: exports.decodeMembership,
  check: exports.checkInvariants,
})

export const realCore: CoreModule = asModule(real)

export interface Patch {
  /** Below the packages folder, compiled: raft/dist/core/election.js */
  readonly file: string
  /** Stands there exactly once. */
  readonly find: string
  readonly replace: string
}

const PACKAGES = fileURLToPath(new URL('../../../../packages/', import.meta.url))

/** The compiled core with these lines changed, and a function that takes its files away again. */
export async function patchedCore(
  patches: readonly Patch[],
): Promise<{ readonly core: CoreModule; readonly remove: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-bug-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    for (const name of ['base', 'protocol', 'raft']) {
      const target = join(folder, 'node_modules', '@latchkey', name)
      mkdirSync(target, { recursive: true })
      for (const part of ['package.json', 'dist']) {
        cpSync(join(PACKAGES, name, part), join(target, part), { recursive: true })
      }
    }
    for (const patch of patches) apply(folder, patch)
    const entry = join(folder, 'node_modules', '@latchkey', 'raft', 'dist', 'core', 'index.js')
    const exports = (await import(/* @vite-ignore */ pathToFileURL(entry).href)) as Exports
    return { core: { ...asModule(exports), check: undefined }, remove }
  } catch (error) {
    remove()
    throw error
  }
}

function apply(folder: string, { file, find, replace }: Patch): void {
  const path = join(folder, 'node_modules', '@latchkey', file)
  const source = readFileSync(path, 'utf8')
  const count = source.split(find).length - 1
  if (count !== 1) {
    throw new Error(`the bug does not fit any more: ${file} has ${count} times "${find}"; write the patch anew`)
  }
  writeFileSync(path, source.replace(find, () => replace))
}
