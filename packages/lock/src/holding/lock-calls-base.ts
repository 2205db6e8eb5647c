// Driver: the base class of store.locks, store.semaphores, store.elections and store.webLocks, and the query
// that lists holds.

import {
  type As,
  type Bytes,
  type Decoding,
  type Kind,
  knownNames,
  type LockInfoResult,
  type LockQueryOptions,
  READ,
  readArgs,
  refuseUnknown,
  show,
  toRecord,
} from '@latchkey/protocol'
import type { LockServices } from './shared-by-all-acquisitions.js'
import { prefixArg } from './lock-arguments.js'
import type { LockPort } from './lock-port-interface.js'

const QUERY_OPTIONS = knownNames('queue', 'as', 'consistency', 'timeout', 'signal')

export abstract class HoldCalls {
  readonly #services: LockServices

  /** Internal: the store creates these objects. */
  constructor(services: LockServices) {
    this.#services = services
  }

  protected get services(): LockServices {
    return this.#services
  }

  protected get port(): LockPort {
    return this.#services.port
  }

  /** The prefix that `store.sub(prefix)` puts before all names. Empty in the store itself. */
  protected get prefix(): Uint8Array {
    return this.port.decoding.prefix
  }
}

/** Lists all holds of that kind whose names begin with `prefix`, in the order of their keys. */
export async function queryHolds<Info>(
  port: LockPort,
  call: string,
  kind: Kind,
  prefix: Bytes | undefined,
  options: LockQueryOptions<As> | undefined,
  toInfo: (row: LockInfoResult, decoding: Decoding) => Info,
): Promise<Info[]> {
  const given = toRecord(options ?? {}, 'options') as LockQueryOptions<As>
  refuseUnknown(given, QUERY_OPTIONS, 'option', call)
  const { queue = false, ...rest } = given
  if (typeof queue !== 'boolean') throw new TypeError(`queue must be true or false; got ${show(queue)}`)
  const { decoding } = port
  const read = readArgs(call, rest, decoding)
  const { timeout, signal } = read
  const asked = [READ.lockQuery, prefixArg(decoding.prefix, prefix, kind), queue, false] as const
  const rows = (await port.read(asked, { timeout, signal })) as LockInfoResult[]
  return rows.map((row) => toInfo(row, read))
}
