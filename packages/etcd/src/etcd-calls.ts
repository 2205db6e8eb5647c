// Driver: the calls of etcd that the locks make, each with a time limit.

import { type Clock, type Random } from '@latchkey/base'
import { notReached } from '@latchkey/lock'
import { isNoLease, isSameLease, toLockError } from './etcd-errors.js'
import type { CallOptions, EtcdClient, TxnAnswer } from './etcd-types.js'
import { KeepAliveStream } from './keep-alive-stream.js'

/** In ms. */
const CALL_PATIENCE = 4_000
const SECOND = 1_000

export interface Lease {
  readonly id: string
  /** In ms, the life that the servers have given to the lease. */
  readonly ttl: number
}

export class EtcdCalls {
  readonly #client: EtcdClient
  readonly #clock: Clock
  readonly #random: Random
  readonly #stream: KeepAliveStream

  constructor(client: EtcdClient, clock: Clock, random: Random) {
    this.#client = client
    this.#clock = clock
    this.#random = random
    this.#stream = new KeepAliveStream(client, clock)
  }

  async txn(request: object): Promise<TxnAnswer> {
    try {
      return await this.#client.kv.txn(request, this.#limit())
    } catch (error) {
      throw toLockError(error)
    }
  }

  /** Grants a lease that lives for at least that many ms. etcd counts in seconds, and gives two at least. */
  async grant(millis: number): Promise<Lease> {
    const id = this.#newLease()
    const TTL = String(Math.max(1, Math.ceil(millis / SECOND)))
    try {
      const granted = await this.#client.leaseClient.leaseGrant({ TTL, ID: id }, this.#limit())
      return { id, ttl: Number(granted.TTL) * SECOND }
    } catch (error) {
      if (isSameLease(error)) return { id, ttl: Number(TTL) * SECOND }
      const known = toLockError(error)
      // No row depends on this lease, so a grant that comes late changes no lock.
      throw known.code === 'ERR_OUTCOME_UNKNOWN' ? notReached(error) : known
    }
  }

  /** Revokes the lease. Its rows are deleted, and a put that names it is refused from now on. */
  async revoke(lease: string): Promise<void> {
    try {
      await this.#client.leaseClient.leaseRevoke({ ID: lease }, this.#limit())
    } catch (error) {
      if (!isNoLease(error)) throw toLockError(error)
    }
  }

  /** Resolves to the lease's new life in ms, or 0 if the lease is over. */
  keep(lease: string): Promise<number> {
    return this.#stream.keep(lease)
  }

  /** Resolves to the rest of the lease's life in ms, or 0 if the lease is over. */
  async remaining(lease: string): Promise<number> {
    try {
      const { TTL } = await this.#client.leaseClient.leaseTimeToLive({ ID: lease }, this.#limit())
      return Math.max(0, Number(TTL)) * SECOND
    } catch (error) {
      if (isNoLease(error)) return 0
      throw toLockError(error)
    }
  }

  close(): void {
    this.#stream.close()
  }

  #limit(): CallOptions {
    return { deadline: this.#clock.instant().wall + CALL_PATIENCE }
  }

  /**
   * Makes the id of a lease. The client makes the ids itself, so that a lease whose grant was not answered
   * can be revoked.
   */
  #newLease(): string {
    const [high, low] = [this.#random.between(1, 2 ** 30), this.#random.between(0, 2 ** 32)]
    return String(BigInt(high) * 2n ** 32n + BigInt(low))
  }
}
