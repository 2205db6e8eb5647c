// Driver: runs the lock rules on maps and records the history of calls and answers, for tests.

import { text } from '@latchkey/base'
import { renewedOwners } from '@latchkey/protocol'
import { tryLock } from '../rules/acquire.js'
import { renew } from '../rules/acquire.js'
import type { LockEvent } from '../rules/history-checker.js'
import { ownerOfHold } from '../rules/hold-checks-and-answers.js'
import type { HoldRow, LockHappening, WaiterRow } from '../rules/lock-transaction.js'
import { cancelWait, forceRelease, release } from '../rules/release.js'
import { type AskOptions, K, askCommand } from './lock-test-commands.js'
import { MapTransaction } from './map-transaction.js'

export class Recorder extends MapTransaction {
  readonly events: LockEvent[] = []
  /** The real time of an event: 7 ms ahead of cluster time, as if there had been no leader for 7 ms. */
  readonly at = () => this.now + 7
  #calls = 0

  override granted(row: HoldRow): void {
    super.granted(row)
    this.events.push({ kind: 'grant', ...this.#where(row.key), owner: ownerOfHold(row, this.now) })
  }

  override happened(what: LockHappening, row: HoldRow | WaiterRow): void {
    super.happened(what, row)
    if (what === 'left') this.events.push({ kind: 'left', ...this.#where(row.key), id: row.id })
  }

  ask(time: number, id: string, options: AskOptions = {}): void {
    const command = askCommand(id, options)
    const answer = this.entry(time, options.session ?? 1, () => tryLock(this, options.session ?? 1, command))
    if (typeof answer === 'string') return
    const [owner, queued] = answer
    const call = `c${++this.#calls}`
    this.events.push({ kind: 'ask', call, id, ...this.#where(command[1]), owner, queued, lease: command[5] })
    this.events.push({ kind: 'answer', call, owner })
  }

  renew(time: number, id: string, token: number, lease: number): void {
    const list = [[K, id, token, lease]] as const
    const [owner] = this.entry(time, 1, () => renewedOwners(list, renew(this, list)))
    const call = `c${++this.#calls}`
    if (owner) this.events.push({ kind: 'renew', call, id, token, ...this.#where(K), owner })
  }

  /** The release is recorded before the grant that it causes. */
  release(time: number, id: string, token: number, all: boolean): void {
    this.tick(time)
    const before = this.events.length
    const owner = release(this, K, id, token, all)
    const call = `c${++this.#calls}`
    this.events.splice(before, 0, { kind: 'release', call, id, token, ...this.#where(K), owner })
    this.events.push({ kind: 'answer', call, owner })
  }

  force(time: number, token: number): void {
    this.tick(time)
    const before = this.events.length
    if (forceRelease(this, K, token))
      this.events.splice(before, 0, { kind: 'forced', ...this.#where(K), token })
  }

  cancel(time: number, id: string): void {
    this.tick(time)
    const before = this.events.length
    const [state, owner] = cancelWait(this, K, id)
    if (state === 'granted' && owner) {
      this.events.splice(before, 0, { kind: 'forced', ...this.#where(K), token: owner[3] })
    }
  }

  #where(key: Uint8Array): { time: number; at: number; key: string } {
    return { time: this.now, at: this.at(), key: text(key) }
  }
}
