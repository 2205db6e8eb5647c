// Types: the functions of `etcd3` that this package uses. So a user does not need the types of `etcd3`, and
// may use any version with these functions. Numbers of 64 bits are strings.

export interface EtcdClient {
  readonly kv: { txn(request: object, options?: CallOptions): Promise<TxnAnswer> }
  readonly leaseClient: {
    leaseGrant(request: { TTL: string; ID: string }, options?: CallOptions): Promise<{ readonly TTL: string }>
    leaseRevoke(request: { ID: string }, options?: CallOptions): Promise<unknown>
    leaseTimeToLive(request: { ID: string }, options?: CallOptions): Promise<{ readonly TTL: string }>
    leaseKeepAlive(): Promise<KeepAliveConnection>
  }
  readonly watchClient: { watch(): Promise<WatchConnection> }
  close(): void
}

export interface CallOptions {
  readonly deadline: number
}

export interface KeepAliveConnection {
  write(request: { ID: string }): unknown
  end(): unknown
  on(event: 'data', listener: (answer: { readonly ID: string; readonly TTL: string }) => void): unknown
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
}

export interface WatchConnection {
  write(request: object): unknown
  cancel(): unknown
  on(event: 'data', listener: (answer: WatchAnswer) => void): unknown
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
}

export interface WatchAnswer {
  readonly watch_id: string
  readonly canceled: boolean
  readonly events: readonly unknown[]
}

/** A put, a deletion or a read, as `etcd3` builds them, for example `client.put('k').value('v')`. */
export interface EtcdOperation {
  op(): Promise<object>
}

export interface EtcdRow {
  readonly key: Buffer
  readonly value: Buffer
  readonly create_revision: string
  readonly mod_revision: string
  /** The id of the lease to which the row is attached. '0' means no lease. */
  readonly lease: string
}

export interface OperationAnswer {
  readonly response_range?: { readonly kvs: readonly EtcdRow[]; readonly count: string } | null
  readonly response_put?: { readonly prev_kv: EtcdRow | null } | null
}

export interface TxnAnswer {
  readonly header: { readonly revision: string }
  readonly succeeded: boolean
  readonly responses: readonly OperationAnswer[]
}
