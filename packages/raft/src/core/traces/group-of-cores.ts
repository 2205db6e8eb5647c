// Driver: a group of cores for tests. Messages, syncs and crashes happen only when the test says so.
//
// These laws are checked at each call: the laws of invariants.ts hold, and a term has one leader. A committed
// entry never changes. After a crash the disk has everything that was synced.

import { assert, type Random } from '@latchkey/base'
import {
  type Effect,
  type Entry,
  type HardState,
  type LogPosition,
  type MemberId,
  type Membership,
  type Message,
  type PersistBatch,
  Raft,
  type RaftOptions,
} from '../index.js'
import { checkInvariants, checkStep, footprint } from '../invariants.js'

/** The content of a disk after all batches that were synced so far. */
interface Image {
  hardState: HardState
  start: LogPosition
  membership: Membership
  entries: Entry[]
}

interface StateOfMachine {
  position: LogPosition
  membership: Membership
}

export interface Member {
  readonly id: MemberId
  readonly options: RaftOptions
  image: Image
  machine: StateOfMachine
  writes: PersistBatch[]
  raft: Raft | undefined
  now: number
  mayVote: boolean
  rebuild: boolean
}

type Told = (id: MemberId, effect: Effect) => void

export const ORIGIN: LogPosition = { index: 0, term: 0, time: 0 }

export class World {
  readonly members = new Map<MemberId, Member>()
  network: Message[] = []
  readonly #told: Told
  /** Tells a core that its state machine has applied the entries up to `index`. A test may delay this. */
  applied = (raft: Raft, index: number): unknown => raft.applied(index)
  readonly #leaders = new Map<number, MemberId>()
  readonly #committed: Entry[] = []

  constructor(told: Told) {
    this.#told = told
  }

  add(options: RaftOptions, image: Image, machine: StateOfMachine): Member {
    const { id } = options
    const member: Member = {
      id,
      options,
      image,
      machine,
      writes: [],
      raft: undefined,
      now: 0,
      mayVote: true,
      rebuild: false,
    }
    this.members.set(id, member)
    this.start(member)
    return member
  }

  member(id: MemberId): Member {
    const member = this.members.get(id)
    assert(member !== undefined, `no member ${id}`)
    return member
  }

  /**
   * Starts the member as a node does: if the state machine is ahead of the log, the log restarts at the state
   * machine's position.
   */
  start(member: Member, random: Random = member.options.random): void {
    const { machine, image, mayVote } = member
    const last = image.entries.at(-1)?.index ?? image.start.index
    if (machine.position.index > last) {
      image.start = machine.position
      image.membership = machine.membership
      image.entries = []
    }
    // The log has another entry at the state machine's position. This difference arises if the member crashed
    // while the disk still had entries that contradict the leader's log.
    const beyondStart = image.entries[machine.position.index - image.start.index - 1]
    if (beyondStart !== undefined && beyondStart.term !== machine.position.term) member.rebuild = true
    const { rebuild } = member
    member.raft = new Raft(
      { ...member.options, random },
      {
        hardState: image.hardState,
        entries: [...image.entries],
        start: image.start,
        membership: image.membership,
        applied: machine.position.index,
        mayVote,
        rebuild,
      },
      member.now,
    )
  }

  call(id: MemberId, call: (raft: Raft, now: number) => readonly Effect[]): void {
    const { raft, now } = this.member(id)
    if (raft === undefined) return
    const before = footprint(raft)
    const effects = call(raft, now)
    checkStep(before, raft)
    checkInvariants(raft)
    for (const effect of effects) this.#perform(id, effect)
  }

  #perform(id: MemberId, effect: Effect): void {
    this.#told(id, effect)
    const member = this.member(id)
    if (effect.type === 'send') this.network.push(effect.message)
    else if (effect.type === 'persist') member.writes.push(effect.batch)
    else if (effect.type === 'role' && effect.role === 'leader') this.#elected(id, effect.term)
    else if (effect.type === 'commit') this.#apply(member, effect.from, effect.to)
  }

  #elected(id: MemberId, term: number): void {
    const other = this.#leaders.get(term)
    assert(other === undefined || other === id, `two leaders in term ${term}: ${other} and ${id}`)
    this.#leaders.set(term, id)
  }

  #apply(member: Member, from: number, to: number): void {
    const raft = member.raft as Raft
    assert(from === member.machine.position.index + 1, 'apply skips entries or repeats them')
    for (let index = from; index <= to; index++) {
      const entry = raft.entry(index)
      this.#commit(entry)
      member.machine = { position: place(entry), membership: raft.membershipAt(index) }
    }
    this.applied(raft, to)
  }

  #commit(entry: Entry): void {
    const known = this.#committed[entry.index]
    const same =
      known === undefined || (known.term === entry.term && Buffer.compare(known.data, entry.data) === 0)
    assert(same, `two different entries were committed at ${entry.index}`)
    this.#committed[entry.index] = entry
  }

  get committedTo(): number {
    return this.#committed.length - 1
  }

  /** Syncs the written batches up to batch `upTo`. */
  sync(id: MemberId, upTo = Number.POSITIVE_INFINITY): void {
    const member = this.member(id)
    let last = 0
    while (member.writes[0] !== undefined && member.writes[0].id <= upTo) {
      const batch = member.writes.shift() as PersistBatch
      write(member.image, batch)
      last = batch.id
    }
    if (last > 0) this.call(id, (raft, now) => raft.persisted(last, now))
  }

  /** Crashes the member. The first `kept` of the unsynced batches are on the disk afterwards. */
  crash(id: MemberId, kept = 0): void {
    const member = this.member(id)
    for (const batch of member.writes.slice(0, kept)) write(member.image, batch)
    member.writes = []
    member.raft = undefined
  }

  compact(id: MemberId, index: number): void {
    const { raft, image } = this.member(id)
    raft?.compact(index)
    const start = (raft as Raft).firstIndex - 1
    if (start <= image.start.index) return
    const entry = image.entries[start - image.start.index - 1] as Entry
    image.membership = (raft as Raft).membershipAt(start)
    image.entries = image.entries.filter((kept) => kept.index > start)
    image.start = place(entry)
  }
}

export const place = ({ index, term, time }: LogPosition): LogPosition => ({ index, term, time })

function write(image: Image, batch: PersistBatch): void {
  if (batch.restartAfter !== undefined) {
    image.start = batch.restartAfter.position
    image.membership = batch.restartAfter.membership
    image.entries = []
  }
  const { truncateFrom } = batch
  if (truncateFrom !== undefined) image.entries = image.entries.filter((entry) => entry.index < truncateFrom)
  for (const entry of batch.entries) {
    const last = image.entries.at(-1)?.index ?? image.start.index
    assert(entry.index === last + 1, 'a batch leaves a gap on disk')
    image.entries.push(entry)
  }
  if (batch.hardState !== undefined) image.hardState = batch.hardState
}
