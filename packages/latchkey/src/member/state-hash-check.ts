// Driver: compares the states of members. After the same entry, the members send hashes of their states to
// each other. Each key space, which is a part of the stored keys, has a hash. Busy members send hashes after
// the first entry of each half minute of cluster time. Idle members also send hashes after their last entry.
// Different hashes show a fault of a machine or a disk that no other check has noticed. Then
// first-different-row.ts finds the first row that differs.

import type { Clock, Timer } from '@latchkey/base'
import type { KvStore, StateHash } from '@latchkey/kv'

/** `spaces` has one hash for each key space. `index` is the last entry that the state contains. */
export interface StateHashes {
  readonly index: number
  readonly spaces: Readonly<Record<string, string>>
}

interface StateCheckPorts {
  readonly clock: Clock
  readonly applied: () => number
  /** Undefined while the state is being replaced, or after the member has stopped. */
  readonly stateHashes: () => StateHashes | undefined
  readonly tell: (stateHashes: StateHashes) => void
  /**
   * Called if another member's state after the entry `index` differs from this member's state in these key
   * spaces. Resolves to true when the first different row was found.
   */
  readonly differs: (from: string, index: number, spaces: readonly string[]) => Promise<boolean>
  /** Keeps a view of this member's state after the entry `index`, for the comparison of rows. */
  readonly hold: (index: number) => Promise<unknown>
}

/** In ms. A member that has applied nothing for this time is idle. */
const REST_MS = 2_000
/** How many lists of hashes are kept for each member. A member that lags needs older hashes of the others. */
const KEPT_HASHES = 4

export class StateCheck {
  readonly #ports: StateCheckPorts
  readonly #own: StateHashes[] = []
  /** The last hashes from each other member. This member compares them when it has applied the same entry. */
  readonly #received = new Map<string, StateHashes[]>()
  /**
   * The members whose state differs from the state of this member. `known` is true when the first different
   * row was found.
   */
  readonly #different = new Map<string, { known: boolean }>()
  #seen = 0
  #timer: Timer

  constructor(ports: StateCheckPorts) {
    this.#ports = ports
    this.#timer = this.#arm()
  }

  #arm(): Timer {
    return this.#ports.clock.after(REST_MS, () => this.#look(), { ref: false })
  }

  #look(): void {
    this.#timer = this.#arm()
    const index = this.#ports.applied()
    const resting = index === this.#seen
    this.#seen = index
    if (!resting || index === this.#own.at(-1)?.index) return
    const stateHashes = this.#ports.stateHashes()
    if (stateHashes !== undefined) this.#stateHashes(stateHashes)
  }

  /**
   * Called at the first entry of each half minute of cluster time. The next entry is applied after the
   * promise has resolved.
   */
  onStateHash(stateHashes: StateHashes): Promise<unknown> | undefined {
    this.#stateHashes(stateHashes)
    const wanted = [...this.#different.values()].some(({ known }) => !known)
    return wanted ? this.#ports.hold(stateHashes.index) : undefined
  }

  #stateHashes(stateHashes: StateHashes): void {
    remember(this.#own, stateHashes)
    this.#ports.tell(stateHashes)
    for (const [from, hashes] of this.#received) {
      for (const theirs of [...hashes]) this.#compare(from, theirs)
    }
  }

  receive(from: string, stateHashes: StateHashes): void {
    const hashes = this.#received.get(from) ?? []
    this.#received.set(from, hashes)
    remember(hashes, stateHashes)
    this.#compare(from, stateHashes)
  }

  #compare(from: string, theirs: StateHashes): void {
    const own = this.#own.find(({ index }) => index === theirs.index)?.spaces
    if (own === undefined) return
    const hashes = this.#received.get(from) ?? []
    hashes.splice(hashes.indexOf(theirs), 1)
    const names = [...new Set([...Object.keys(own), ...Object.keys(theirs.spaces)])].sort()
    const different = names.filter((name) => own[name] !== theirs.spaces[name])
    if (different.length > 0) this.#differs(from, theirs.index, different)
    else this.#different.delete(from)
  }

  #differs(from: string, index: number, spaces: readonly string[]): void {
    const entry = this.#different.get(from) ?? { known: false }
    this.#different.set(from, entry)
    void this.#ports.differs(from, index, spaces).then((known) => {
      entry.known ||= known
    })
  }

  close(): void {
    this.#timer.cancel()
  }
}

function remember(hashes: StateHashes[], stateHashes: StateHashes): void {
  hashes.push(stateHashes)
  if (hashes.length > KEPT_HASHES) hashes.shift()
}

export const stateHashesOf = ({ position, spaces }: StateHash): StateHashes => ({
  index: position.index,
  spaces,
})

export function currentStateHashes(kv: KvStore): StateHashes | undefined {
  try {
    return stateHashesOf(kv.stateHash())
  } catch {
    // `stateHash` throws while the state is being replaced, and after a stop. Other code reports these
    // errors.
    return undefined
  }
}
