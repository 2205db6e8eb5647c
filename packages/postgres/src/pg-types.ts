// Types: the functions of `pg` that this package uses. The types of this package do not refer to the types of
// `pg`. So a user need not install @types/pg, and may use any version of `pg` with these functions.

export interface PgClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: unknown[] }>
}

export interface PgPool extends PgClient {
  connect(): Promise<unknown>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
}

export interface PgListener extends PgClient {
  connect(): Promise<unknown>
  end(): Promise<void>
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown
}
