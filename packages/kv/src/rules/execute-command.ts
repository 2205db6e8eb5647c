// Rule: executes one well-formed command of a session. Each operation is one case.

import { binary, unreachable } from '@latchkey/base'
import {
  cancelWait,
  downgrade,
  forceRelease,
  guardHolder,
  isHeldWith,
  presentHold,
  proclaim,
  release,
  releaseAll,
  renew,
  resize,
  rotate,
  steal,
  tryLock,
  tryLockAll,
} from '@latchkey/lock'
import {
  type BudgetLimits,
  type Command,
  type CommandOf,
  type GuardArg,
  guardsOf,
  LIFE_OF_SESSION,
  type LifeArg,
  type OnceArg,
  OP,
  type PartyCommand,
  rowsNamed,
} from '@latchkey/protocol'
import { fencedBy, MALFORMED, Refused, refusedWith, UnencodedAnswer } from '../commands/answer-encoding.js'
import type { Expiry } from '../state/key-value-row-format.js'
import { expiryAfter } from '../state/key-expiry-index-rows.js'
import type { Session } from '../state/session-rows.js'
import type { State } from '../state/store-state.js'
import type { EventCaps } from '../state/command-event-rows.js'
import { Budget } from './work-limit-per-command.js'
import { WriteSet } from './command-write-set.js'
import { isChangeOfHold, keptAnswerOf, keptAnswerOfTxn, keptRecordOf } from './once-answers.js'
import { increment } from './integer-values.js'
import * as kv from './key-value-commands.js'
import type { StateLockTransaction } from './tables-for-lock-rules.js'
import { type Found, NOTHING_FOUND } from './ranges-needed-by-command.js'
import type { WorkInTurns } from '../work-in-event-loop-turns.js'
import { nextBlock, reset } from './sequences.js'
import { cancelCall, closeSession } from './sessions.js'
import { batch, txn } from './batch-and-txn.js'
import { type WorkOfTurn, LongWork } from './work-limit-per-event-loop-turn.js'
import { enterBarrier } from './barriers.js'
import { countDown, createLatch, removeLatch, waitLatch } from './countdown-latches.js'
import { leaveParties, moveParty } from './latch-and-barrier-waits.js'

export interface ApplyContext {
  readonly state: State
  readonly locks: StateLockTransaction
  readonly caps: EventCaps & { readonly budget: BudgetLimits }
  readonly turn: WorkOfTurn
}

type WriteCommand = Extract<Command, readonly [number, GuardArg, ...unknown[]]>

/**
 * Returns the result, or a Refused, or a LongWork that ends with a result or a Refused. A refused command has
 * changed nothing. If the command exceeds a limit, this function or the LongWork throws OverBudget. The state
 * is then unchanged, because all changes are still in the write set.
 */
export function execute(context: ApplyContext, session: Session, command: Command, found: Found): unknown {
  switch (command[0]) {
    case OP.openSession:
    case OP.endSession:
      return MALFORMED
    case OP.keepAlive:
      return true
    case OP.closeSession:
      return closeSession(context.state, context.locks, session)
    case OP.cancelCall:
      return cancelCall(context.state.sessions, session, command[1])
    case OP.tryLock:
    case OP.release:
    case OP.renew:
    case OP.cancelWait:
    case OP.forceRelease:
    case OP.releaseAll:
    case OP.downgrade:
    case OP.resize:
    case OP.proclaim:
    case OP.rotate:
    case OP.steal:
    case OP.tryLockAll:
      return lockCommand(context.locks, session.id, command)
    case OP.createLatch:
    case OP.countDown:
    case OP.removeLatch:
    case OP.waitLatch:
    case OP.enterBarrier:
    case OP.leaveParties:
    case OP.moveParty:
      return partyCommand(context, session.id, command)
    case OP.applyOnce:
      return new LongWork(applyOnce(context, session, command))
    default:
      return guarded(context, session, command, found)
  }
}

/**
 * Returns the expiry of a key that is put at cluster time `now`, or undefined if the key has no ttl and no
 * session.
 */
function expiryFor(life: LifeArg, session: Session, now: number): Expiry | undefined {
  if (life === undefined) return undefined
  return life === LIFE_OF_SESSION ? { kind: 'session', number: session.id } : expiryAfter(now, life)
}

type LockCommand = Extract<
  Command,
  readonly [30 | 31 | 32 | 33 | 34 | 35 | 36 | 37 | 38 | 39 | 40 | 41, ...unknown[]]
>

function lockCommand(locks: StateLockTransaction, session: number, command: LockCommand): unknown {
  switch (command[0]) {
    case OP.tryLock: {
      const answer = tryLock(locks, session, command)
      return typeof answer === 'string' ? refusedWith(answer) : new UnencodedAnswer(answer)
    }
    case OP.release:
      return new UnencodedAnswer(release(locks, command[1], command[2], command[3], command[4]))
    case OP.renew:
      return renew(locks, command[1])
    case OP.cancelWait:
      return cancelWait(locks, command[1], command[2])
    case OP.forceRelease:
      return forceRelease(locks, command[1], command[2])
    case OP.releaseAll:
      return releaseAll(locks, command[1])
    case OP.downgrade:
      return downgrade(locks, command[1], command[2], command[3])
    case OP.resize:
      return resize(locks, command[1], command[2])
    case OP.proclaim:
      return proclaim(locks, command[1], command[2], command[3], command[4])
    case OP.rotate:
      return rotate(locks, command[1], command[2], command[3])
    case OP.steal: {
      const [, key, id, lease, context] = command
      return steal(locks, session, { key, id, lease, context })
    }
    case OP.tryLockAll: {
      const answer = tryLockAll(locks, session, command)
      return typeof answer === 'string' ? refusedWith(answer) : answer
    }
  }
}

function partyCommand({ state, locks, turn }: ApplyContext, session: number, command: PartyCommand): unknown {
  const { parties } = state
  switch (command[0]) {
    case OP.createLatch:
      return createLatch(parties, command)
    case OP.countDown:
      return new LongWork(countDown(parties, turn, command))
    case OP.removeLatch:
      return new LongWork(removeLatch(parties, turn, command))
    case OP.waitLatch:
      return waitLatch(parties, locks.now, session, command)
    case OP.enterBarrier:
      return new LongWork(enterBarrier(parties, turn, locks.now, session, command))
    case OP.leaveParties:
      return leaveParties(parties, command[1])
    case OP.moveParty:
      return moveParty(parties, session, [command[1], command[2], command[3]])
  }
}

/** Executes the inner command, or returns its kept answer (once-answers.ts). */
function* applyOnce(
  context: ApplyContext,
  session: Session,
  command: CommandOf<'applyOnce'>,
): WorkInTurns<unknown> {
  const { state, locks, caps, turn } = context
  const [, once, inner] = command
  const row = state.data.get(binary(once[0]))
  if (row !== undefined) {
    const kept = keptAnswerOf(once, row)
    if (kept instanceof Refused || !isChangeOfHold(inner)) return kept
    return presentHold(locks, inner[1], inner[2], inner[3])
  }
  const outcome = execute(context, session, inner, NOTHING_FOUND)
  const result = outcome instanceof LongWork ? yield* outcome.steps : outcome
  const record = keptRecordOf(once, inner, result)
  if (record === undefined) return result
  // The key and the record are too short to exceed a limit of the budget, so the inner command stays applied.
  const writeSet = new WriteSet(state, caps, new Budget(caps.budget, rowsNamed(command), turn))
  writeSet.put(once[0], record, expiryAfter(locks.now, once[2]))
  writeSet.commit()
  return result
}

/**
 * Executes a write. If the hold of its guard is not in force at this entry, the write is refused with
 * ERR_FENCED (docs/locks.md, section 4).
 */
function guarded(context: ApplyContext, session: Session, command: WriteCommand, found: Found): unknown {
  // A repeated txn with `once` gets its kept answer before the guard is checked, because the hold may have
  // ended after the first call.
  const kept = command[0] === OP.txn ? keptFor(context.state, command[5]) : undefined
  if (kept !== undefined) return kept
  const guard = command[1]
  if (guard !== null)
    for (const [key, token, shared] of guardsOf(guard))
      if (!isHeldWith(context.locks, key, token, shared)) return fencedBy(guardHolder(context.locks, key))
  return write(context, session, command, found)
}

function keptFor({ data }: State, once: OnceArg | undefined): unknown {
  const row = once && data.get(binary(once[0]))
  return once === undefined || row === undefined ? undefined : keptAnswerOfTxn(once, row)
}

function write(context: ApplyContext, session: Session, command: WriteCommand, found: Found): unknown {
  const { state, locks, caps, turn } = context
  const writeSet = () => new WriteSet(state, caps, new Budget(caps.budget, rowsNamed(command), turn))
  const begin = (life: LifeArg) => expiryFor(life, session, locks.now)
  switch (command[0]) {
    case OP.put:
      if (command[4] !== undefined) return kv.putWithExpiry(writeSet(), command, begin)
      return kv.put(state, binary(command[2]), command[3])
    case OP.touch:
      return kv.touch(state, command, begin)
    case OP.putAll:
      return new LongWork(kv.putAll(writeSet(), command, begin))
    case OP.putIfAbsent:
      return kv.putIfAbsent(writeSet(), command)
    case OP.getAndPut:
      return kv.getAndPut(writeSet(), command)
    case OP.compareAndPutAll:
      return new LongWork(kv.compareAndPutAll(writeSet(), command))
    case OP.merge:
      return kv.merge(writeSet(), command)
    case OP.increment:
      return increment(writeSet(), command)
    case OP.deleteAll:
      return new LongWork(kv.deleteAll(writeSet(), command))
    case OP.deleteRange:
      return kv.deleteRange(state, command, found)
    case OP.batch:
      return new LongWork(batch(writeSet(), command, { locks, begin, found }))
    case OP.txn:
      return new LongWork(txn(writeSet(), command, { locks, begin, found }))
    case OP.nextSequence:
      return nextBlock(state.sequences, command[2], command[3])
    case OP.resetSequence:
      return reset(state.sequences, command[2])
    default:
      return unreachable(command)
  }
}
