// Driver: the requests to etcd that the locks make, each with a time limit.

import { type Clock, type Random } from '@latchkey/base'
import { notReached } from '@latchkey/lock'
import { isNoLease, isSameLease, toLockError } from './outcome-of-etcd-error.js'
import type { CallOptions, EtcdClient, TxnAnswer } from './etcd-types.js'
import { KeepAliveStream } from './keep-alive-stream.js'

/** In ms, how long a request waits for its answer. */
const CALL_PATIENCE = 4_000
const SECOND = 1_000

export interface Lease {
  readonly id: string
  /** In ms. */
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

  /**
   * etcd measures leases in whole seconds, and lengthens a lease that is shorter than its minimum. So the
   * returned ttl may be longer than `millis`.
   */
  async grant(millis: number): Promise<Lease> {
    const id = this.#newLease()
    const TTL = String(Math.max(1, Math.ceil(millis / SECOND)))
    try {
      const granted = await this.#client.leaseClient.leaseGrant({ TTL, ID: id }, this.#limit())
      return { id, ttl: Number(granted.TTL) * SECOND }
    } catch (error) {
      if (isSameLease(error)) return { id, ttl: Number(TTL) * SECOND }
      const known = toLockError(error)
      // Even if etcd may have made the lease, the caller gets an error with 'not-applied'. A lease alone
      // changes no lock, because no row uses the lease yet.
      throw known.code === 'ERR_OUTCOME_UNKNOWN' ? notReached(error) : known
    }
  }

  /**
   * etcd deletes the rows that are attached to the lease, and refuses each later put that names the lease.
   */
  async revoke(lease: string): Promise<void> {
    try {
      await this.#client.leaseClient.leaseRevoke({ ID: lease }, this.#limit())
    } catch (error) {
      if (!isNoLease(error)) throw toLockError(error)
    }
  }

  /** Resolves to the new length of the lease in ms, or to 0 if the lease has ended. */
  keep(lease: string): Promise<number> {
    return this.#stream.keep(lease)
  }

  /** Resolves to the remaining time of the lease in ms, or to 0 if the lease has ended. */
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
   * The client chooses the ids of leases itself, so that the client can revoke a lease whose grant was not
   * answered.
   */
  #newLease(): string {
    const [high, low] = [this.#random.between(1, 2 ** 30), this.#random.between(0, 2 ** 32)]
    return String(BigInt(high) * 2n ** 32n + BigInt(low))
  }
}
