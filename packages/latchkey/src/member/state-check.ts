// Driver: compares the states of members. After the same entry each member sends the others the hashes of its
// key spaces. Busy members send the hashes after the first entry of each half minute of cluster time. Idle
// members also send the hashes after their last entry. A difference shows a fault of a machine or a disk that
// no other check has noticed. state-search.ts finds the first row that differs.

import type { Clock, Timer } from '@latchkey/base'
import type { KvStore, StateHash } from '@latchkey/kv'

/** The hashes after the entry `index`: one hash for each key space, by the name of the space. */
export interface StateHashes {
  readonly index: number
  readonly spaces: Readonly<Record<string, string>>
}

interface StateCheckPorts {
  readonly clock: Clock
  /** The index up to which this member has applied. */
  readonly applied: () => number
  /** Undefined while the state is being replaced, or after the member has stopped. */
  readonly stateHashes: () => StateHashes | undefined
  readonly tell: (stateHashes: StateHashes) => void
  /**
   * Called if that member has another state in these key spaces after the same entry. Resolves to true when
   * the first row that differs is known.
   */
  readonly differs: (from: string, index: number, spaces: readonly string[]) => Promise<boolean>
  /** Keeps the state after that entry for a comparison. Resolves when the state is kept. */
  readonly hold: (index: number) => Promise<unknown>
}

/** In ms. A member is idle when it has applied nothing for this time. */
const REST_MS = 2_000
/**
 * How many hashes of each member are remembered. An older hash is needed to compare a member that lags a
 * little.
 */
const KEPT_HASHES = 4

export class StateCheck {
  readonly #ports: StateCheckPorts
  readonly #own: StateHashes[] = []
  /**
   * The last hashes of each other member. Another member may have applied an entry earlier than this member.
   */
  readonly #heard = new Map<string, StateHashes[]>()
  /** The members whose state differs, and whether the first row that differs is known. */
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
   * Called with the state hash after the first entry of each half minute of cluster time. The next entry
   * waits for the returned promise.
   */
  onStateHash(stateHashes: StateHashes): Promise<unknown> | undefined {
    this.#stateHashes(stateHashes)
    const wanted = [...this.#different.values()].some(({ known }) => !known)
    return wanted ? this.#ports.hold(stateHashes.index) : undefined
  }

  #stateHashes(stateHashes: StateHashes): void {
    remember(this.#own, stateHashes)
    this.#ports.tell(stateHashes)
    for (const [from, hashes] of this.#heard) {
      for (const heard of [...hashes]) this.#compare(from, heard)
    }
  }

  hear(from: string, stateHashes: StateHashes): void {
    const hashes = this.#heard.get(from) ?? []
    this.#heard.set(from, hashes)
    remember(hashes, stateHashes)
    this.#compare(from, stateHashes)
  }

  #compare(from: string, heard: StateHashes): void {
    const own = this.#own.find(({ index }) => index === heard.index)?.spaces
    if (own === undefined) return
    const hashes = this.#heard.get(from) ?? []
    hashes.splice(hashes.indexOf(heard), 1)
    const names = [...new Set([...Object.keys(own), ...Object.keys(heard.spaces)])].sort()
    const different = names.filter((name) => own[name] !== heard.spaces[name])
    if (different.length > 0) this.#differs(from, heard.index, different)
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
    // The state is being replaced, or the member has stopped. Other files report these two cases.
    return undefined
  }
}
