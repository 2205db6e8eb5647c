// Rule: the changes of locks as events in the order of the log, for the checker of histories, and the answers
// to clients.
//
// Laws that are checked at each entry
// - A guarded write happens only while its hold is in force at the entry of the write (docs/locks.md, 4).
// - A caller whose wait or session has ended is not granted a lock (docs/locks.md, 7).
// - The tokens of guarded writes never become smaller in the order of the log.
// - A counter gives each token once and in growing order, over all keys that share the counter
//   (docs/locks.md, 4).

import { text } from '@latchkey/base'
import { BatchReader } from '@latchkey/kv'
import { CODE, type HoldRow, type LockEvent, judgeHistory, ownerOfHold, type WaiterRow } from '@latchkey/lock'
import {
  type Command,
  decodeAnswer,
  decodeCommand,
  type GuardArg,
  guardsOf,
  type OneGuardArg,
  isBadCommand,
  type LinkReply,
  type LinkRequest,
  OP,
  type OwnerResult,
  type RenewalArg,
  type RenewResult,
  renewedOwners,
  type TicketArg,
  type TicketResult,
  type TryLockAllResult,
  type TryLockResult,
} from '@latchkey/protocol'
import type { Entry } from '@latchkey/raft/core'
import type { Applied } from '@latchkey/raft/node'
import { LawBroken } from '../../laws/verdict.js'
import type { AppliedLog } from '../applied-log.js'
import { type Note, RuleCalls } from './rule-calls.js'
import { isSharedKey, SharedLocks } from './shared-locks.js'

interface Place {
  readonly time: number
  readonly at: number
}

interface InForce {
  readonly token: number
  readonly deadline: number
}

export class LockHistory {
  readonly events: LockEvent[] = []
  readonly #shared = new SharedLocks()
  readonly #log: AppliedLog
  readonly #told: (event: LockEvent) => void
  #starting: RuleCalls | undefined
  /** The recorded calls by the state of a transaction. Several members apply entries in turns. */
  readonly #byState = new WeakMap<object, RuleCalls>()
  readonly #byReader = new WeakMap<object, RuleCalls>()
  /** Violations during an apply are reported after the apply. */
  readonly #wrong: LawBroken[] = []
  readonly #inForce = new Map<string, InForce>()
  readonly #written = new Map<string, number>()
  /** The last token of each counter, for any key. */
  readonly #tokens = new Map<string, number>()
  /** Unanswered calls, by the process of the client and the id of the request. */
  readonly #asked = new WeakMap<object, Map<number, { readonly call: string; readonly op: number }>>()
  /** The tokens of holds that were ended by force or released. Their holders may not know this. */
  readonly forced = new Set<string>()

  constructor(log: AppliedLog, told: (event: LockEvent) => void) {
    this.#log = log
    this.#told = told
  }

  #push(event: LockEvent): void {
    this.#told(event)
    if (event.kind !== 'answer' && event.kind !== 'promise' && isSharedKey(event.key))
      return this.#shared.told(event)
    this.events.push(event)
  }

  // ---- while a member applies

  /**
   * Runs an apply and returns the notes about the rules, by entry. The rules may add notes until the result
   * is there.
   */
  during<T>(apply: () => T): { readonly result: T; readonly notes: readonly (readonly Note[])[] } {
    const recording = new RuleCalls()
    this.#starting = recording
    try {
      return { result: apply(), notes: recording.notes }
    } finally {
      this.#starting = undefined
    }
  }

  /** The first entry of an apply begins inside the call, and its state identifies the apply. */
  #recordingOf(tx: object): RuleCalls | undefined {
    const { state } = tx as { readonly state: object }
    if (this.#starting !== undefined) this.#byState.set(state, this.#starting)
    return this.#byState.get(state)
  }

  #note(tx: object, note: Omit<Note, 'command' | 'now'>): void {
    this.#recordingOf(tx)?.note(tx, note)
  }

  entry(tx: object, reader: object | undefined): void {
    const recording = this.#recordingOf(tx)
    if (recording === undefined) return
    recording.entry(tx)
    if (reader !== undefined) this.#byReader.set(reader, recording)
  }

  command(reader: object): void {
    this.#byReader.get(reader)?.nextCommand()
  }

  granted(tx: object, row: HoldRow): void {
    const { sessionLife } = tx as { sessionLife(session: number): number | undefined }
    if (sessionLife.call(tx, row.session) === undefined)
      this.#wrong.push(new LawBroken('waiters', `a grant to ${row.id}, whose session ${row.session} is over`))
    this.#note(tx, { kind: 'grant', row })
  }

  left(tx: object, row: WaiterRow): void {
    this.#note(tx, { kind: 'left', row })
  }

  touched(tx: object, row: HoldRow): void {
    this.#note(tx, { kind: 'touched', row })
  }

  // ---- once an entry

  applied(entry: Entry, { answers }: Applied, notes: readonly Note[]): void {
    const [wrong] = this.#wrong
    if (wrong !== undefined) throw wrong
    const place = { time: entry.time, at: this.#log.stampedAt(entry) }
    this.#tellNotes(place, notes, -1, 'all')
    this.#tellCommands(entry, answers, place, notes)
    this.#shared.entryOver(entry.time)
  }

  #tellCommands(entry: Entry, answers: Applied['answers'], place: Place, notes: readonly Note[]): void {
    if (entry.kind !== 'commands' || answers === undefined) return
    const reader = new BatchReader(entry.data)
    for (let i = 0; reader.next(); i++) {
      // A command prolongs the grants of its session before its execution.
      this.#tellNotes(place, notes, i, 'touched')
      const answer = answers[i]
      const command = decodeCommand(reader.body)
      if (answer !== undefined && !answer.fromTable && !isBadCommand(command)) {
        const [code, result] = decodeAnswer(answer.bytes)
        if (code === 0) this.#tell(place, command, `${reader.session}/${reader.number}`, result)
      }
      this.#tellNotes(place, notes, i, 'rest')
    }
  }

  #tellNotes(place: Place, notes: readonly Note[], command: number, which: 'all' | 'touched' | 'rest'): void {
    const here = notes.filter(
      (note) =>
        note.command === command && (which === 'all' || (note.kind === 'touched') === (which === 'touched')),
    )
    here.forEach((note, i) => {
      const key = text(note.row.key)
      if (note.kind === 'grant') {
        const row = note.row as HoldRow
        this.#givenOut(row.fencingKey, row.token)
        return this.#begin(place, key, ownerOfHold(row, note.now), 'grant')
      }
      if (note.kind === 'touched') return this.#touched(place, key, note.row as HoldRow)
      const { id, deadline } = note.row as WaiterRow
      const next = here[i + 1]
      const isGrant = next?.kind === 'grant' && (next.row as HoldRow).id === id && text(next.row.key) === key
      if (isGrant && deadline !== 0 && note.now > deadline)
        throw new LawBroken('waiters', `a grant to ${id} at ${note.now}, whose wait was over at ${deadline}`)
      if (!isGrant) this.#push({ kind: 'left', ...place, key, id })
    })
  }

  #tell(place: Place, command: Command, call: string, result: unknown): void {
    switch (command[0]) {
      case OP.tryLock:
        return this.#tellAsk(place, command, call, result as TryLockResult)
      case OP.tryLockAll:
        return this.#tellAskAll(place, command, call, result as TryLockAllResult)
      case OP.release:
        return this.#tellRelease(place, command, call, result as OwnerResult)
      case OP.renew:
        return renewedOwners(command[1], result as RenewResult).forEach((owner, i) => {
          const [key, id, token] = command[1][i] as RenewalArg
          this.#tellRenewal(place, text(key), id, token, `${call}#${i}`, owner)
        })
      case OP.forceRelease:
        if (result === true) this.#ended(place, text(command[1]), command[2], 'forced')
        return
      case OP.cancelWait: {
        const [state, owner] = result as TicketResult
        if (state === 'granted' && owner !== null) this.#ended(place, text(command[1]), owner[3], 'forced')
        return
      }
      case OP.releaseAll:
        ;(result as readonly number[]).forEach((token, i) => {
          const [key] = command[1][i] as TicketArg
          if (token !== 0) this.#ended(place, text(key), token, 'forced')
        })
        return
      case OP.downgrade:
        if ((result as OwnerResult)[6] === CODE.KEEP_LEASE)
          this.#shared.downgraded(text(command[1]), command[2])
        return
      case OP.rotate: {
        const owner = result as OwnerResult
        if (owner[6] === CODE.KEEP_LEASE) this.#shared.rotated(text(command[1]), command[2], owner[3])
        return
      }
      case OP.resize:
        return this.#shared.resized(text(command[1]), command[2])
      default:
        return this.#guarded(place, command)
    }
  }

  #tellAsk(
    place: Place,
    command: Extract<Command, readonly [typeof OP.tryLock, ...unknown[]]>,
    call: string,
    [owner, queued, obstacle]: TryLockResult,
  ): void {
    const key = text(command[1])
    if (owner[6] === CODE.FIRST_TIME || owner[6] === CODE.NEW_ACQUIRE) this.#givenOut(command[2], owner[3])
    if (isSharedKey(key)) {
      const [permits, of] = command[9] ?? [0, 0]
      const is = obstacle?.[0] === 'circle' ? 'circle' : queued ? 'queued' : 'other'
      this.#shared.askedBy(command[4], command[10], [{ key, permits }], place.time, is)
      this.#shared.asked(key, permits, of, owner, command[4], queued)
    }
    this.#push({ kind: 'ask', ...place, key, call, id: command[4], owner, queued, lease: command[5] })
    if (owner[4] > 0 && owner[3] > 0) this.#inForce.set(key, { token: owner[3], deadline: owner[1] })
  }

  #tellAskAll(
    place: Place,
    [, id, list, fencingKey, lease, , , by]: Extract<Command, readonly [typeof OP.tryLockAll, ...unknown[]]>,
    call: string,
    [state, owners]: TryLockAllResult,
  ): void {
    const wants = list.map(([key, permits]) => ({ key: text(key), permits }))
    const isNew = state === 'held' && owners.every(({ 6: code }) => code !== CODE.KEEP_LEASE)
    if (isNew) for (const owner of owners) this.#givenOut(fencingKey, owner[3])
    const is = state === 'circle' || state === 'queued' ? state : 'other'
    this.#shared.askedBy(id, by, wants, place.time, is)
    if (state === 'queued' || isNew) this.#shared.askedAll(id, wants, isNew ? owners : [])
    if (state !== 'held') return
    owners.forEach((owner, i) => {
      const key = wants[i]?.key as string
      this.#push({ kind: 'ask', ...place, key, call: `${call}#${i}`, id, owner, queued: false, lease })
      this.#inForce.set(key, { token: owner[3], deadline: owner[1] })
    })
  }

  #givenOut(fencingKey: Uint8Array | null, token: number): void {
    const counter = fencingKey === null ? '' : `/${text(fencingKey)}`
    const last = this.#tokens.get(counter) ?? 0
    if (token <= last)
      throw new LawBroken(
        'growing tokens',
        `token ${token} of counter '${counter}' was given out behind ${last}`,
      )
    this.#tokens.set(counter, token)
  }

  #tellRenewal(place: Place, key: string, id: string, token: number, call: string, owner: OwnerResult): void {
    this.#push({ kind: 'renew', ...place, key, call, id, token, owner })
    const held = this.#inForce.get(key)
    if (held !== undefined && held.token === owner[3] && owner[4] > 0)
      this.#inForce.set(key, { token: owner[3], deadline: owner[1] })
  }

  #tellRelease(
    place: Place,
    command: Extract<Command, readonly [typeof OP.release, ...unknown[]]>,
    call: string,
    owner: OwnerResult,
  ): void {
    const key = text(command[1])
    this.#push({ kind: 'release', ...place, key, call, id: command[2], token: command[3], owner })
    if (owner[4] === 0 && this.#inForce.get(key)?.token === command[3]) this.#inForce.delete(key)
  }

  /**
   * The session of a grant has sent a request. The hold lasts until the end of its lease, as after a renewal.
   */
  #touched(place: Place, key: string, row: HoldRow): void {
    const owner: OwnerResult = [
      row.id,
      row.deadline,
      0,
      row.token,
      row.acquires,
      row.context,
      CODE.KEEP_LEASE,
      place.time,
    ]
    this.#tellRenewal(place, key, row.id, row.token, `touch/${row.token}`, owner)
  }

  #begin(place: Place, key: string, owner: OwnerResult, kind: 'grant'): void {
    this.#push({ kind, ...place, key, owner })
    this.#inForce.set(key, { token: owner[3], deadline: owner[1] })
  }

  #ended(place: Place, key: string, token: number, kind: 'forced'): void {
    this.#push({ kind, ...place, key, token })
    this.forced.add(`${key}/${token}`)
    if (this.#inForce.get(key)?.token === token) this.#inForce.delete(key)
  }

  #guarded({ time }: Place, command: Command): void {
    if (command[0] < OP.put || command[0] > OP.resetSequence) return
    for (const guard of guardsOf(command[1] as GuardArg)) this.#guardedBy(guard, time)
  }

  #guardedBy(guard: OneGuardArg, time: number): void {
    const key = text(guard[0])
    if (isSharedKey(key)) return this.#shared.guarded(key, guard[1], guard[2] === true, time)
    const held = this.#inForce.get(key)
    if (held === undefined || held.token !== guard[1] || time > held.deadline)
      throw new LawBroken(
        'fenced writes',
        `a write with token ${guard[1]} of ${key} at ${time}: ${JSON.stringify(held)}`,
      )
    const last = this.#written.get(key) ?? 0
    if (guard[1] < last) throw new LawBroken('fenced writes', `token ${guard[1]} wrote behind token ${last}`)
    this.#written.set(key, guard[1])
  }

  // ---- what goes by between stores and members

  asked(life: object, request: LinkRequest): void {
    if (request.kind !== 'command' || request.number === 0) return
    const command = decodeCommand(request.body)
    if (isBadCommand(command) || (command[0] !== OP.tryLock && command[0] !== OP.release)) return
    if (isSharedKey(text(command[1]))) return
    const open = this.#asked.get(life) ?? new Map<number, { call: string; op: number }>()
    this.#asked.set(life, open)
    open.set(request.id, { call: `${request.session}/${request.number}`, op: command[0] })
  }

  answered(life: object, reply: LinkReply): void {
    if (reply.kind !== 'answer' || reply.never) return
    const open = this.#asked.get(life)
    const asked = open?.get(reply.id)
    if (open === undefined || asked === undefined) return
    open.delete(reply.id)
    const [code, result] = reply.answer instanceof Uint8Array ? decodeAnswer(reply.answer) : reply.answer
    if (code !== 0) return
    const owner = (asked.op === OP.tryLock ? (result as readonly unknown[])[0] : result) as OwnerResult
    this.#push({ kind: 'answer', call: asked.call, owner })
  }

  judge(): void {
    const [first, ...more] = judgeHistory(this.events)
    if (first !== undefined)
      throw new LawBroken(
        `locks: ${first.law}`,
        `${first.message} (and ${more.length} more) ${JSON.stringify(first.event)}`,
      )
  }
}
