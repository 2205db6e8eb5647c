// Driver: loads the core: the one under test, or a copy of the compiled packages with changes.

import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as real from '@latchkey/raft/core'
import type { CoreModule } from '../member/core-module.js'
import { applyChanges, type Change, isCode, PACKAGES } from './changed-packages.js'

type Exports = typeof real & { readonly checkInvariants?: (raft: real.Raft) => void }

const asModule = (exports: Exports): CoreModule => ({
  Raft: exports.Raft,
  decodeMembership: exports.decodeMembership,
  check: exports.checkInvariants,
})

export const realCore: CoreModule = asModule(real)

/** The compiled core with these changes, and a function that takes its files away again. */
export async function changedCore(
  changes: readonly Change[],
): Promise<{ readonly core: CoreModule; readonly remove: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-bug-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    for (const part of ['base/package.json', 'base/dist', 'raft/package.json', 'raft/dist/core']) {
      const target = join(folder, 'node_modules', '@latchkey', part)
      mkdirSync(dirname(target), { recursive: true })
      cpSync(join(PACKAGES, part), target, { recursive: true, filter: isCode })
    }
    applyChanges(join(folder, 'node_modules', '@latchkey'), changes)
    const entry = join(folder, 'node_modules', '@latchkey', 'raft', 'dist', 'core', 'index.js')
    const exports = (await import(/* @vite-ignore */ pathToFileURL(entry).href)) as Exports
    return { core: { ...asModule(exports), check: undefined }, remove }
  } catch (error) {
    remove()
    throw error
  }
}
