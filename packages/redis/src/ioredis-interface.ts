// Types: the functions of `ioredis` that this package uses. The types of this package do not refer to the
// types of `ioredis`. So a user may use any version of `ioredis` with these functions.

export type RedisArg = string | Buffer | number

/** A client of one server, or of the master that the sentinels report. */
export interface RedisClient {
  readonly status: string
  readonly options: { readonly keyPrefix?: string | undefined }
  duplicate(override?: object): RedisClient
  connect(): Promise<void>
  disconnect(): void
  callBuffer(command: string, args: RedisArg[]): Promise<unknown>
  subscribe(channel: string): Promise<unknown>
  on(event: 'ready' | 'close' | 'end', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'message', listener: (channel: string, message: string) => void): unknown
}
