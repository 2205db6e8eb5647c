// Driver: loads the core: the one under test, or a copy of the compiled packages with one line changed.

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
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
  /** Stands there exactly once, whatever the white space. */
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
    for (const part of ['base/package.json', 'base/dist', 'raft/package.json', 'raft/dist/core']) {
      const target = join(folder, 'node_modules', '@latchkey', part)
      mkdirSync(dirname(target), { recursive: true })
      cpSync(join(PACKAGES, part), target, { recursive: true, filter: isCode })
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

const isCode = (path: string): boolean => !/\.(map|d\.ts|tsbuildinfo)$/.test(path)

export class PatchMisfit extends Error {
  override readonly name = 'PatchMisfit'
}

/** Whatever the white space: a compiler may break lines otherwise tomorrow. */
function loosely(text: string): RegExp {
  const words = text.trim().split(/\s+/)
  return new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\s+'), 'g')
}

/** Throws where a patch does not fit the compiled packages. */
export function checkPatch(patch: Patch): void {
  patched(PACKAGES, patch)
}

function apply(folder: string, patch: Patch): void {
  const root = join(folder, 'node_modules', '@latchkey')
  writeFileSync(join(root, patch.file), patched(root, patch))
}

function patched(root: string, { file, find, replace }: Patch): string {
  const source = readFileSync(join(root, file), 'utf8')
  const places = [...source.matchAll(loosely(find))]
  if (places.length !== 1) {
    throw new PatchMisfit(
      `does not fit any more: ${file} has ${places.length} times "${find}"; write it anew`,
    )
  }
  return source.replace(loosely(find), () => replace)
}
