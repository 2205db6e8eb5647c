// Driver: starts a member from its disk. Until what was found is synced, the process hears nobody: the cache
// may hold what the medium does not.

import type { LogPosition, MemberId, MembershipChange, Message } from '@latchkey/raft/core'
import type { MemberOptions } from '../swarm/options.js'
import { CoreMember, type Started } from './core-member.js'
import type { CoreModule } from './core-module.js'
import { JOURNAL } from './journal.js'
import {
  type Birth,
  type Boot,
  DamagedDisk,
  type Host,
  type MemberView,
  type Request,
  type SimMember,
} from './port.js'
import { recoverJournal } from './recover.js'
import { readSnapshot } from './snapshot-file.js'

export const bootCore =
  (core: CoreModule, options: MemberOptions): Boot =>
  (host, birth) =>
    new Booting(host, birth, core, options)

/** A process that is still reading its disk, then hands everything to the member it became. */
class Booting implements SimMember {
  #member: CoreMember | undefined
  readonly #birth: Birth

  constructor(host: Host, birth: Birth, core: CoreModule, options: MemberOptions) {
    this.#birth = birth
    const started = readDisk(host, birth)
    const begin = (ok: boolean) => {
      if (!ok) return host.stop('what was found could not be synced')
      tellWatcher(host, started)
      host.enter((now) => {
        this.#member = new CoreMember(host, core, options, started, now)
      })
    }
    if (!host.disk.has(JOURNAL)) host.after(1, () => begin(true))
    else host.disk.sync(JOURNAL, (ok) => (ok ? host.disk.syncFolder(begin) : begin(false)))
  }

  message(message: Message, now: number): void {
    this.#member?.message(message, now)
  }

  tick(now: number): void {
    this.#member?.tick(now)
  }

  request(request: Request, now: number): void {
    this.#member?.request(request, now)
  }

  peerGone(id: MemberId, now: number): void {
    this.#member?.peerGone(id, now)
  }

  transfer(to: MemberId, now: number): boolean {
    return this.#member?.transfer(to, now) ?? false
  }

  change(change: MembershipChange, now: number): boolean {
    return this.#member?.change(change, now) ?? false
  }

  compact(): void {
    this.#member?.compact()
  }

  get view(): MemberView {
    return this.#member?.view ?? { ...ASLEEP, membership: this.#birth.membership }
  }
}

const ASLEEP = {
  term: 0,
  role: 'starting',
  leader: undefined,
  commit: 0,
  applied: 0,
  lastIndex: 0,
  clusterTime: 0,
  stateHash: 0,
  pending: 'its start',
  describe: () => 'starting',
}

/**
 * Log and snapshot, made to fit: a crash between an installed snapshot and the log's record of it leaves the
 * log behind.
 */
function readDisk(host: Host, birth: Birth): Started {
  const journal = recoverJournal(host.disk, birth.membership)
  const snapshot = readSnapshot(host.disk)
  const last = journal.base.index + journal.entries.length
  if (snapshot === undefined) {
    if (journal.base.index > 0) throw new DamagedDisk('the log starts behind a snapshot that is not there')
    return { journal, snapshot }
  }
  const { position, membership } = snapshot
  if (position.index < journal.base.index) throw new DamagedDisk('the snapshot ends before the log starts')
  const term =
    position.index === journal.base.index
      ? journal.base.term
      : journal.entries[position.index - journal.base.index - 1]?.term
  if (position.index <= last && term === position.term) return { journal, snapshot }
  // The vote stays. The next write of the journal begins a new file behind the snapshot.
  return { journal: { ...journal, base: position, membership, entries: [], restart: true }, snapshot }
}

function tellWatcher(host: Host, { journal, snapshot }: Started): void {
  const base: LogPosition = journal.base
  host.watcher.booted(host.id, {
    term: journal.hard.term,
    vote: journal.hard.vote,
    base,
    membership: journal.membership,
    entries: journal.entries,
    applied: snapshot?.position.index ?? 0,
  })
}
