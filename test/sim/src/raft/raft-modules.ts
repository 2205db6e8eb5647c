// Driver: loads what a member of the profile is made of: the packages as they are, or a copy of the compiled
// ones with changes.

import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { checkInvariants, decodeMembership } from '@latchkey/raft/core'
import { Replica } from '@latchkey/raft/node'
import { messageItem } from '../../../../packages/raft/dist/net/message-encoder.js'
import { toMessage } from '../../../../packages/raft/dist/net/message-decoder.js'
import { applyChanges, type Change, isCode, PACKAGES } from '../run/changed-packages.js'

export interface RaftModules {
  readonly Replica: typeof Replica
  readonly decodeMembership: typeof decodeMembership
  readonly messageItem: typeof messageItem
  readonly toMessage: typeof toMessage
  /** The core's own laws, after each call of it; undefined for a known bug, which the cluster has to show. */
  readonly checkInvariants: typeof checkInvariants | undefined
}

export const realModules: RaftModules = { Replica, decodeMembership, messageItem, toMessage, checkInvariants }

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

export interface LoadedModules {
  readonly modules: RaftModules
  /** Takes its files away again. */
  readonly remove: () => void
}

export async function changedModules(changes: readonly Change[]): Promise<LoadedModules> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-bug-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  const place = (path: string) => join(folder, 'node_modules', '@latchkey', path)
  try {
    for (const name of ['base', 'protocol', 'raft']) {
      for (const part of ['package.json', 'dist']) {
        mkdirSync(dirname(place(join(name, part))), { recursive: true })
        cpSync(join(PACKAGES, name, part), place(join(name, part)), { recursive: true, filter: isCode })
      }
    }
    for (const name of ['msgpackr', 'ws'])
      symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name), 'dir')
    applyChanges(place(''), changes)
    const load = async (file: string) =>
      (await import(/* @vite-ignore */ pathToFileURL(place(`raft/dist/${file}.js`)).href)) as object
    const modules = Object.assign(
      {},
      ...(await Promise.all(
        ['node/index', 'core/index', 'net/message-encoder', 'net/message-decoder'].map(load),
      )),
      { checkInvariants: undefined },
    ) as RaftModules
    return { modules, remove }
  } catch (error) {
    remove()
    throw error
  }
}
