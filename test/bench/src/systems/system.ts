// Types: what is measured. Each system runs as its own processes, with the same durability, on loopback.

export interface System {
  readonly name: string
  /** What runs, in a few words: version, members, durability, client. */
  readonly setting: string
  /** Its server processes, for what they cost. */
  pids(): readonly number[]
  /** One user's way in, as its usual Node client offers it. */
  connect(): Promise<SystemClient>
  stop(): Promise<void>
}

/** Lets a lock go. True: it was still ours. */
export type Release = () => Promise<boolean>

export interface SystemClient {
  /** One attempt. undefined: somebody else has it. */
  take?(key: string): Promise<Release | undefined>
  put?(key: string, value: Uint8Array): Promise<boolean>
  /** Never older than the last put that was acknowledged to anybody. */
  get?(key: string): Promise<Uint8Array | undefined>
  /**
   * Waits for the lock in the system's own queue and passes it on at once; calls `served` while holding it. A
   * waiter has one call under way. Absent where a system has no queue.
   */
  passOn?(key: string, waiter: number, served: () => void): Promise<void>
  /** The same of the only permit of a semaphore. */
  passPermit?(name: string, waiter: number, served: () => void): Promise<void>
  /** The same of the leadership of an election. */
  passLeadership?(name: string, waiter: number, served: () => void): Promise<void>
  close(): Promise<void>
}

/** Starts it; a text says why it cannot be had here. */
export type SystemFactory = () => Promise<System | string>
