// Driver's port: what is measured. Each system runs as its own processes, with the same durability, on loopback.

export interface System {
  readonly name: string
  /** What runs, in a few words: versions, members, durability. */
  readonly setting: string
  /** One user's way in, as its usual Node client offers it. */
  connect(): Promise<SystemClient>
  stop(): Promise<void>
}

export interface SystemClient {
  /** Takes the lock and lets it go; true only if it was really held in between. */
  lockPair?(key: string): Promise<boolean>
  put?(key: string, value: Uint8Array): Promise<boolean>
  /** True if the value was there. */
  get?(key: string): Promise<boolean>
  /**
   * Waits for the lock in the system's own queue, as `name`, and passes it on at once; calls `served` while holding it.
   * Absent where a system has no queue.
   */
  passOn?(key: string, served: () => void): Promise<void>
  close(): Promise<void>
}

/** Undefined: not installed here. */
export type SystemFactory = () => Promise<System | undefined>
