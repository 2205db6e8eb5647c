// Types: the part of `ioredis` that is used here, so that neither its types nor one version of it is needed.

export type RedisArg = string | Buffer | number

/** A client of one server, or of the master that sentinels name. */
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
