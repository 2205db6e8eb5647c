// Driver: compares this member's state with the states of the other members. This file exchanges hashes with
// the other members (state-hash-check.ts) and searches for the first row that differs
// (first-different-row.ts).

import type { Clock, Logger, Random } from '@latchkey/base'
import { type KvStore, SPACE_NAMES, type StateHash } from '@latchkey/kv'
import { type MemberId, membersOf, type RaftNode } from '@latchkey/raft'
import type { MemberMessage } from './non-raft-member-messages.js'
import { currentStateHashes, type StateHashes, StateCheck, stateHashesOf } from './state-hash-check.js'
import { DifferentRowSearch } from './first-different-row.js'

type StateMessage = Extract<MemberMessage, { kind: 'stateHashes' | 'compare' | 'compared' }>

interface Ports {
  readonly id: MemberId
  readonly node: RaftNode
  readonly kv: KvStore
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly send: (to: MemberId, message: StateMessage) => void
}

export class StateComparison {
  readonly #ports: Ports
  readonly #search: DifferentRowSearch
  readonly #check: StateCheck

  constructor(ports: Ports) {
    this.#ports = ports
    const { clock, kv, logger, node, random } = ports
    this.#search = new DifferentRowSearch({
      clock,
      random,
      freeze: (index) => kv.digestAt(index),
      send: ports.send,
      found: (from, index, difference) =>
        logger.error('this is the first row that differs between the members', {
          from,
          index,
          ...difference,
        }),
    })
    this.#check = new StateCheck({
      clock,
      applied: () => node.applied.position.index,
      stateHashes: () => (knowsMembers(node) ? currentStateHashes(kv) : undefined),
      tell: (stateHashes) => this.#sendToOthers(stateHashes),
      hold: (index) => this.#search.hold(index),
      differs: (from, index, spaces) => this.#differs(from, index, spaces),
    })
  }

  receive(from: MemberId, message: StateMessage): void {
    switch (message.kind) {
      case 'stateHashes':
        return this.#check.receive(from, message)
      case 'compare':
        return void this.#search.asked(from, message)
      case 'compared':
        return this.#search.answered(from, message)
    }
  }

  onStateHash(hash: StateHash): Promise<unknown> | undefined {
    return knowsMembers(this.#ports.node) ? this.#check.onStateHash(stateHashesOf(hash)) : undefined
  }

  #sendToOthers(stateHashes: StateHashes): void {
    const { id: own, node, send } = this.#ports
    for (const id of membersOf(node.applied.membership)) {
      if (id !== own) send(id, { kind: 'stateHashes', ...stateHashes })
    }
  }

  /**
   * The log line is repeated at each comparison until the states are equal. The search covers the key space
   * `meta`, which has the revision, only if no other key space differs.
   */
  #differs(from: MemberId, index: number, spaces: readonly string[]): Promise<boolean> {
    this.#ports.logger.error('members have different states: rebuild the member whose state is wrong', {
      from,
      index,
      spaces,
    })
    const names = SPACE_NAMES.filter((name) => spaces.includes(name))
    const rows = names.filter((name) => name !== 'meta')
    return this.#search.search(from, index, rows.length > 0 ? rows : names)
  }

  close(): void {
    this.#check.close()
    this.#search.close()
  }
}

/** False for a joining member that has applied no entry with a membership yet. */
export const knowsMembers = (node: RaftNode): boolean => membersOf(node.applied.membership).length > 0
