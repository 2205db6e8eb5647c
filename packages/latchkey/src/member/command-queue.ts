// Driver: owns the commands of a leading member that wait to be written into its log. Nearly all commands are
// small and do not wait. Large commands take turns.
//
// Without this queue: one client sends ten putAll of 20,000 rows at once. They follow one another in the log
// and take three seconds to apply. The commands of other clients, for example a renewal, come after them, and
// a lock of 3 s is lost. Seven thousand openSession have the same effect, because each of them is an entry of
// its own.
//
// Laws:
//   - at any time the large commands that are in the log and not applied have at most WINDOW work together,
//     or there is only one such command. So a small command waits for at most that much work, whatever others
//     have sent before;
//   - connections take turns: the next is the connection with the least work, counting the work that was done
//     for it and its next command. A connection's commands keep their order, but its locks do not wait for
//     its writes, nor do its sessions;
//   - a small write waits only for a waiting write of its own connection;
//   - a deleteRange that is alone in its entry is counted before it is written into the log (kv,
//     delete-range-surveys.ts). Until it is applied no other write to its range is in the log, because the
//     count would be wrong;
//   - the waiting commands are limited, in total and for each connection. A further command fails with
//     ERR_BUSY.

import { type CommandRecord, type KvStore, RecordSource } from '@latchkey/kv'
import { type Command, decodeCommand, isBadCommand, OP, opOf } from '@latchkey/protocol'
import type { Outcome, RaftNode } from '@latchkey/raft'

/** In units of kv's rules/apply-work-limit.ts. This work takes about a tenth of a second of one core. */
const WINDOW = 20_000
/** A command with at most this much work is small. */
const SMALL = 32
/** A command of a small kind is small up to this many bytes. */
const SMALL_BODY = 16 * 1024
const SMALL_RENEWAL = 1024
/** In bytes. A waiting command counts as its own bytes and this many more. */
const OVERHEAD_BYTES = 1024
/**
 * The commands of all connections together may have this many times the bytes that one connection may have.
 */
const MOST_FULL = 4

/**
 * The sender of commands: a connection to this member, or a session of another member that forwards its
 * commands.
 */
export type Origin = object | string
type Told = (outcome: Outcome, ticket: number) => void

interface Waiting {
  readonly record: CommandRecord
  readonly told: Told
  readonly ticket: number
  readonly alone: boolean
  readonly weight: number
  readonly bytes: number
  readonly range: Range | undefined
}

interface Range {
  readonly start: Uint8Array
  readonly end: Uint8Array
}

type Kind = 'sessions' | 'writes' | 'locks'

/** The waiting commands of one origin and one kind. */
class Lane {
  readonly waiting: Waiting[] = []
  /**
   * The work that was done, or is under way, for the origin (the sender) of these commands. A new origin
   * begins with the same number as the origin that was served last.
   */
  served: number
  bytes = 0
  /** True while a deleteRange of this lane is being counted. The later commands of the lane wait. */
  surveying = false
  left = false

  constructor(served: number) {
    this.served = served
  }

  get waits(): boolean {
    return this.surveying || this.waiting.length > 0
  }
}

interface CommandQueuePorts {
  readonly node: Pick<RaftNode, 'submit'>
  readonly kv: Pick<KvStore, 'survey' | 'weigh'>
  /** The most bytes of waiting commands for one connection. One command may always wait. */
  readonly mostBytes: number
}

export class CommandQueue {
  readonly #ports: CommandQueuePorts
  readonly #record = new RecordSource()
  readonly #lanes: Readonly<Record<Kind, Map<Origin, Lane>>> = {
    sessions: new Map(),
    writes: new Map(),
    locks: new Map(),
  }
  readonly #ranges = new Set<Range>()
  #waiting = 0
  #bytes = 0
  /** How many commands are in the log and not applied, or are about to be written into the log. */
  #underWay = 0
  #weight = 0
  /** The value of `served` of the origin that was served last. */
  #served = 0

  constructor(ports: CommandQueuePorts) {
    this.#ports = ports
  }

  get waiting(): number {
    return this.#waiting
  }

  /**
   * Submits a command. `told` is called once with the outcome and `ticket`, or never if the connection closes
   * before the turn of the command. `decoded` is the decoded body, if the caller has it.
   */
  submit(
    origin: Origin,
    record: CommandRecord,
    told: Told,
    ticket: number,
    alone: boolean,
    decoded?: Command,
  ): void {
    const kind = kindOf(record.body)
    const lane = this.#lanes[kind].get(origin)
    const isSmall = isSmallByKind(record.body)
    if (isSmall && (kind === 'sessions' || lane?.waits !== true))
      return this.#ports.node.submit(this.#record.of(record), told, alone, ticket)
    const command = isSmall ? undefined : (decoded ?? decodedOf(record.body))
    const weight = command === undefined ? SMALL : this.#weigh(command, record.body.length)
    if (weight <= SMALL && lane?.waits !== true)
      return this.#ports.node.submit(this.#record.of(record), told, alone, ticket)
    const bytes = record.body.length + OVERHEAD_BYTES
    const waiting = { record, told, ticket, alone, weight, bytes, range: rangeOf(command) }
    if (!this.#hasRoom(lane, bytes)) return told({ type: 'refused', reason: 'busy' }, ticket)
    this.#add(lane ?? this.#newLane(kind, origin), waiting)
    this.#next()
  }

  /**
   * Estimates the work. An error of a row is ignored here, because the command meets the same error when it
   * is applied.
   */
  #weigh(command: Command, bytes: number): number {
    try {
      return this.#ports.kv.weigh(command, bytes)
    } catch {
      return WINDOW
    }
  }

  #hasRoom(lane: Lane | undefined, bytes: number): boolean {
    const { mostBytes } = this.#ports
    if (lane !== undefined && lane.bytes > 0 && lane.bytes + bytes > mostBytes) return false
    return this.#bytes === 0 || this.#bytes + bytes <= MOST_FULL * mostBytes
  }

  #newLane(kind: Kind, origin: Origin): Lane {
    const lane = new Lane(this.#served)
    this.#lanes[kind].set(origin, lane)
    return lane
  }

  #add(lane: Lane, waiting: Waiting): void {
    lane.waiting.push(waiting)
    lane.bytes += waiting.bytes
    this.#bytes += waiting.bytes
    this.#waiting++
  }

  #take(lane: Lane): Waiting {
    const first = lane.waiting.shift() as Waiting
    lane.bytes -= first.bytes
    this.#bytes -= first.bytes
    this.#waiting--
    return first
  }

  /** Sends all commands that may be sent now. */
  #next(): void {
    while (this.#waiting > 0) {
      const lane = this.#nextLane()
      const first = lane?.waiting[0]
      if (lane === undefined || first === undefined) return
      if (this.#underWay > 0 && this.#weight + first.weight > WINDOW) return
      this.#go(lane, this.#take(lane))
    }
    if (this.#underWay === 0) this.#forget()
  }

  /**
   * Returns the lane whose turn it is. Undefined if all waiting commands must wait until commands under way
   * are applied.
   */
  #nextLane(): Lane | undefined {
    let found: Lane | undefined
    let least = Number.POSITIVE_INFINITY
    for (const lanes of Object.values(this.#lanes)) {
      for (const lane of lanes.values()) {
        const [first] = lane.waiting
        if (first === undefined || lane.surveying || this.#meetsAnother(first.range)) continue
        const served = lane.served + first.weight
        if (served >= least) continue
        least = served
        found = lane
      }
    }
    return found
  }

  #meetsAnother(range: Range | undefined): boolean {
    if (range === undefined) return false
    for (const other of this.#ranges)
      if (Buffer.compare(range.start, other.end) < 0 && Buffer.compare(other.start, range.end) < 0)
        return true
    return false
  }

  #go(lane: Lane, waiting: Waiting): void {
    this.#served = Math.max(this.#served, lane.served)
    lane.served += waiting.weight
    this.#underWay++
    this.#weight += waiting.weight
    if (waiting.range === undefined) return this.#submit(waiting)
    this.#ranges.add(waiting.range)
    const survey = this.#ports.kv.survey(waiting.record.body)
    if (survey === undefined) return this.#submit(waiting)
    lane.surveying = true
    void survey.then(() => {
      lane.surveying = false
      if (lane.left) this.#done(waiting)
      else this.#submit(waiting)
      this.#next()
    })
  }

  #submit(waiting: Waiting): void {
    const { record, told, ticket, alone } = waiting
    const done: Told = (outcome) => {
      told(outcome, ticket)
      this.#done(waiting)
      this.#next()
    }
    this.#ports.node.submit(this.#record.of(record), done, alone, ticket)
  }

  #done({ weight, range }: Waiting): void {
    this.#underWay--
    this.#weight -= weight
    if (range !== undefined) this.#ranges.delete(range)
  }

  /** Called when no command waits or is under way. All origins then begin again with equal work. */
  #forget(): void {
    for (const lanes of Object.values(this.#lanes)) lanes.clear()
    this.#served = 0
  }

  /** Removes the waiting commands of an origin. These commands were never in a log. */
  leave(origin: Origin): void {
    for (const lanes of Object.values(this.#lanes)) {
      const lane = lanes.get(origin)
      if (lane === undefined) continue
      lanes.delete(origin)
      lane.left = true
      while (lane.waiting.length > 0) this.#take(lane)
    }
  }
}

function kindOf(body: Uint8Array): Kind {
  const op = opOf(body)
  if (op >= OP.tryLock) return 'locks'
  return op >= OP.put ? 'writes' : 'sessions'
}

function isSmallByKind(body: Uint8Array): boolean {
  switch (opOf(body)) {
    // The operation is hidden in a longer form than necessary, so only the decoded command shows its work.
    case 0:
    case OP.openSession:
    case OP.endSession:
    case OP.putAll:
    case OP.putIfAbsent:
    case OP.getAndPut:
    case OP.compareAndPutAll:
    case OP.merge:
    case OP.increment:
    case OP.touch:
    case OP.deleteAll:
    case OP.deleteRange:
    case OP.batch:
    case OP.txn:
      return false
    case OP.renew:
    case OP.releaseAll:
    case OP.leaveParties:
      return body.length <= SMALL_RENEWAL
    default:
      return body.length <= SMALL_BODY
  }
}

/**
 * Decodes a command. Returns undefined if the command will be refused, because such a command makes no work.
 */
function decodedOf(body: Uint8Array): Command | undefined {
  const command = decodeCommand(body)
  return isBadCommand(command) ? undefined : command
}

const rangeOf = (command: Command | undefined): Range | undefined =>
  command?.[0] === OP.deleteRange ? { start: command[2], end: command[3] } : undefined
