// Door: makes a command apply only once, even if it is sent several times and over several members (C73).

import { createHash } from 'node:crypto'
import type { LockPort, Semaphores } from '@latchkey/lock'
import {
  type As,
  type Command,
  commandName,
  encodeCommand,
  isInnerCommand,
  type KeyValueCalls,
  type OnceArg,
  OP,
} from '@latchkey/protocol'
import type { Latches } from './latches.js'

/** Where the cluster keeps the answer of the command, and how long, in ms. */
export interface KeptAt {
  readonly key: Uint8Array
  readonly life: number
}

/** The calls that can be applied only once. Each of them sends one command. */
export interface CallsAppliedOnce<S extends As>
  extends Pick<KeyValueCalls<S>, 'txn' | 'touch' | 'getSequence' | 'resetSequence'> {
  readonly latches: Pick<Latches, 'create' | 'countDown' | 'remove'>
  readonly semaphores: Pick<Semaphores<S>, 'resize'>
  /** For the commands rotate, downgrade and proclaim. */
  readonly lockPort: Pick<LockPort, 'command'>
}

/** Without `keptAt`, returns the command itself. */
export function appliedOnce(command: Command, keptAt: KeptAt | undefined): Command {
  if (keptAt === undefined) return command
  const digest = createHash('sha256').update(encodeCommand(command)).digest()
  const once: OnceArg = [keptAt.key, digest, keptAt.life]
  if (command[0] === OP.txn) {
    const [op, guard, when, then, otherwise] = command
    return [op, guard, when, then, otherwise, once]
  }
  if (isInnerCommand(command)) return [OP.applyOnce, once, command]
  throw new TypeError(`${commandName(command[0])} cannot be applied once`)
}
