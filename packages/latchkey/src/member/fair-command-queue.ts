// Driver: owns the commands that wait, at the leader, for their turn to be written into the log. Nearly all
// commands are small and do not wait. Large commands of several connections take turns.
//
// Without this queue: one client sends ten putAll of 20,000 rows each. These commands stand one after another
// in the log and take three seconds to apply. A renewal of another client comes after these commands, and a
// lock with a lease of 3 s is lost. Seven thousand openSession have the same effect.
//
// Laws:
//   - All large commands that are in the log and not applied cost at most WINDOW together. A command that
//     costs more than WINDOW is sent when no other large command is in the log. So a small command of another
//     connection waits for at most WINDOW of work, or for one very large command.
//   - Connections take turns. The next turn belongs to the connection whose earlier commands and next command
//     together cost least. The writes of a connection keep their order. The lock commands of a connection
//     also keep their order, but do not wait for writes. An applyOnce always counts as a write, because an
//     applyOnce with a lock command writes a key too.
//   - A small command waits only if an earlier command of the same kind and the same connection waits. The
//     kinds are commands for sessions, writes, and commands for locks.
//   - Before a deleteRange, the member counts the rows of the range (kv, delete-range-row-counts.ts). A
//     deleteRange inside a batch or a transaction is not counted. Until the deleteRange is applied, this
//     queue sends no other deleteRange for overlapping keys.
//   - The bytes of waiting commands are limited, in total and for each kind of command of each connection.
//     Beyond the limit, a command fails with ERR_BUSY.

import { type CommandRecord, type KvStore, RecordSource } from '@latchkey/kv'
import { type Command, decodeCommand, isBadCommand, OP, opOf } from '@latchkey/protocol'
import type { Outcome, RaftNode } from '@latchkey/raft'

/**
 * The limit of the cost of large commands that are in the log and not applied. A record costs 1, and a row
 * costs 2 (kv, rules/work-limit-per-event-loop-turn.ts). The application of this much takes about a tenth of
 * a second of one core.
 */
const WINDOW = 20_000
/** A command that costs more than this is large. */
const SMALL = 32
/** In bytes. A longer command is large, even if it touches only one row. */
const SMALL_BODY = 16 * 1024
/**
 * In bytes. A longer renew, releaseAll or leaveParties is large, because such a command changes many rows.
 */
const SMALL_RENEWAL = 1024
/** In bytes. The memory of a waiting command besides its body. */
const OVERHEAD_BYTES = 1024
/** A factor. All waiting commands together may have at most MOST_FULL * `mostBytes` bytes. */
const MOST_FULL = 4

/**
 * The connection of a client, or a text for commands that another member forwards. The text contains the id
 * of that member and the id of the session.
 */
type CommandSender = object | string
type OnOutcome = (outcome: Outcome, ticket: number) => void

interface Waiting {
  readonly record: CommandRecord
  readonly onOutcome: OnOutcome
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

class Lane {
  readonly waiting: Waiting[] = []
  /**
   * The total cost of the commands of this sender that were sent to the log. A new lane starts at the value
   * that the constructor gets.
   */
  served: number
  bytes = 0
  /**
   * True while the rows of a deleteRange of this sender are counted. During the count, the sender's later
   * commands wait.
   */
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
  /**
   * One connection may have this many bytes of waiting commands of one kind. A single command may be larger.
   */
  readonly mostBytes: number
}

export class CommandQueue {
  readonly #ports: CommandQueuePorts
  readonly #record = new RecordSource()
  readonly #lanes: Readonly<Record<Kind, Map<CommandSender, Lane>>> = {
    sessions: new Map(),
    writes: new Map(),
    locks: new Map(),
  }
  readonly #ranges = new Set<Range>()
  #waiting = 0
  #bytes = 0
  #underWay = 0
  #weight = 0
  /**
   * The largest cost (`Lane.served`) that a sender had at its turn. A new sender starts with this cost, so a
   * new sender gets no advantage over earlier senders.
   */
  #served = 0

  constructor(ports: CommandQueuePorts) {
    this.#ports = ports
  }

  get waiting(): number {
    return this.#waiting
  }

  /**
   * Calls `onOutcome` once with the outcome and `ticket`, or never if the connection closes while the command
   * waits. `decoded` is the decoded body, if the caller has it.
   */
  submit(
    sender: CommandSender,
    record: CommandRecord,
    onOutcome: OnOutcome,
    ticket: number,
    alone: boolean,
    decoded?: Command,
  ): void {
    const kind = kindOf(record.body)
    const lane = this.#lanes[kind].get(sender)
    const isSmall = isSmallByKind(record.body)
    if (isSmall && (kind === 'sessions' || lane?.waits !== true))
      return this.#ports.node.submit(this.#record.of(record), onOutcome, alone, ticket)
    const command = isSmall ? undefined : (decoded ?? decodedOf(record.body))
    const weight = command === undefined ? SMALL : this.#weigh(command, record.body.length)
    if (weight <= SMALL && lane?.waits !== true)
      return this.#ports.node.submit(this.#record.of(record), onOutcome, alone, ticket)
    const bytes = record.body.length + OVERHEAD_BYTES
    const waiting = { record, onOutcome, ticket, alone, weight, bytes, range: rangeOf(command) }
    if (!this.#hasRoom(lane, bytes)) return onOutcome({ type: 'refused', reason: 'busy' }, ticket)
    this.#add(lane ?? this.#newLane(kind, sender), waiting)
    this.#next()
  }

  /**
   * If kv cannot read a row, the command counts with the cost WINDOW. The same error occurs when the command
   * is applied, and the member then reports the error.
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

  #newLane(kind: Kind, sender: CommandSender): Lane {
    const lane = new Lane(this.#served)
    this.#lanes[kind].set(sender, lane)
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
   * Undefined if no command may be sent now: each sender waits for the count of its rows, or for an
   * overlapping deleteRange.
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
    const { record, onOutcome, ticket, alone } = waiting
    const done: OnOutcome = (outcome) => {
      onOutcome(outcome, ticket)
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

  /** Called when no command waits and all commands are applied. All senders begin again with cost 0. */
  #forget(): void {
    for (const lanes of Object.values(this.#lanes)) lanes.clear()
    this.#served = 0
  }

  /**
   * Drops the waiting commands of a sender whose connection has closed. These commands were never in a log,
   * so they are never applied.
   */
  leave(sender: CommandSender): void {
    for (const lanes of Object.values(this.#lanes)) {
      const lane = lanes.get(sender)
      if (lane === undefined) continue
      lanes.delete(sender)
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
    // `opOf` returns 0 if the body has an unusual encoding, from which `opOf` cannot read the operation. So
    // the cost of such a command must be computed.
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
    case OP.applyOnce:
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
 * Returns undefined if the command is malformed. The member refuses a malformed command without work, so this
 * queue treats the command as small.
 */
function decodedOf(body: Uint8Array): Command | undefined {
  const command = decodeCommand(body)
  return isBadCommand(command) ? undefined : command
}

const rangeOf = (command: Command | undefined): Range | undefined =>
  command?.[0] === OP.deleteRange ? { start: command[2], end: command[3] } : undefined
