// Types: the part of `pg` that is used here, so that neither its types nor one version of it is needed.

/** A pool, a client of a pool, or a client. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>
}

export interface PgPool extends PgClient {
  connect(): Promise<unknown>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** A connection of its own, for LISTEN. */
export interface PgListener extends PgClient {
  connect(): Promise<unknown>
  end(): Promise<void>
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
}
