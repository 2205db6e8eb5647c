// Types: the functions of `pg` that this package uses. So a user needs neither the types of `pg` nor one
// version.

/** A pool, a client of a pool, or a client. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>
}

export interface PgPool extends PgClient {
  connect(): Promise<unknown>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
}

/** A separate connection, for LISTEN. */
export interface PgListener extends PgClient {
  connect(): Promise<unknown>
  end(): Promise<void>
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
}
