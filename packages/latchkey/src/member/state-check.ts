// Driver: compares the states of members. After the same entry each member sends the others the hashes of its
// key spaces. Members do so after the first entry of each half minute of cluster time, however busy they are,
// and when they are idle, once for each entry. A difference is a fault of a machine or a disk that nothing
// else has noticed. state-search.ts finds the first row that differs.

import type { Clock, Timer } from '@latchkey/base'
import type { KvStore, StateHash } from '@latchkey/kv'

/** After the entry `index`: a hash for each key space, by name. */
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
   * the differing row is known.
   */
  readonly differs: (from: string, index: number, spaces: readonly string[]) => Promise<boolean>
  /** Keeps the state after that entry for a comparison. The state is kept when the promise resolves. */
  readonly hold: (index: number) => Promise<unknown>
}

/** A member is idle when it has applied nothing for this long. */
const REST_MS = 2_000
/**
 * How many hashes are remembered, of this member and of each other one, so that a member that lags a little
 * is compared too.
 */
const KEPT_HASHES = 4

export class StateCheck {
  readonly #ports: StateCheckPorts
  readonly #own: StateHashes[] = []
  /** The last hashes of each other member, which may have applied an entry earlier than this member. */
  readonly #heard = new Map<string, StateHashes[]>()
  /** The members that differed, and whether the differing row is known. */
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
    // The state is being replaced, or the member has stopped. Both are reported elsewhere.
    return undefined
  }
}
