// Door: a txn that is applied only once, even if it is sent several times and over several members (C73).

import { createHash } from 'node:crypto'
import { EMPTY } from '@latchkey/base'
import {
  type Decoding,
  encodeCommand,
  type OnceArg,
  OP,
  toTxn,
  type Txn,
  txnArgs,
  type WriteOptions,
} from '@latchkey/protocol'
import type { Engine } from '../engine/engine.js'
import { encoded } from './key-value-calls.js'
import { guardNamed, throwNamed } from './arguments-in-write-errors.js'

const BYTES: Decoding = { as: 'bytes', onUndecodable: 'error', prefix: EMPTY }

/** Where the txn's answer is stored, and how long it is stored, in ms. */
interface KeptAt {
  readonly key: Uint8Array
  readonly life: number
}

export function txnOnce(engine: Engine, txn: Txn, options: WriteOptions & { timeout: number }, at: KeptAt) {
  const command = txnArgs(txn, options)
  if (command[0] !== OP.txn) throw new TypeError('a txn is expected')
  const [op, guard, when, then, otherwise] = command
  const digest = createHash('sha256').update(encodeCommand(command)).digest()
  const once: OnceArg = [at.key, digest, at.life]
  const whole = [op, guard, when, then, otherwise, once] as const
  const body = encoded(whole)
  const named = guardNamed(whole, BYTES)
  return engine
    .command(body, options, (result) => toTxn(result, BYTES, then, otherwise))
    .catch((error: unknown) => throwNamed(error, whole, BYTES, named))
}
