// Rule: finds out whether a request would make flows wait for each other in a circle
// (docs/locks.md, section 13).
//
// A flow is work that does one thing after the other: requests to which callers give the same flow name, or a
// hold of withLock with all requests within it. The table shows what can be in the way of a waiter, and when
// the obstacle goes away:
//
// | obstacle                      | it goes away when                                                    |
// |-------------------------------|----------------------------------------------------------------------|
// | a hold that conflicts with it | every waiter of the hold's flow, or within the hold, was granted     |
// | the holds of a semaphore      | so many of them have gone that its permits are free                  |
// | an earlier waiter             | that waiter was granted                                              |
// | an earlier set of keys        | the same; but a waiter for a single key may pass a set that waits    |
// |                               | for something that came before the set                               |
//
// A waiter is stuck if what is in its way does not go away before another stuck waiter is granted. A request
// closes a circle if its caller would be stuck, and if the caller would not be stuck without its own holds.
//
// Laws:
// - A request is refused only if it could not have been granted before a wait or a lease of the circle is
//   over. So a search that becomes too long finds nothing, and all holders of a semaphore that are not stuck
//   count as free. If a set of keys waits, this law does not hold in every case, because of the next law.
// - No circle of named flows waits for ever. A waiter may pass a set now, but no longer when everything that
//   came before the set is gone. So the set counts as in the way of that waiter if a hold that was granted
//   later blocks the set.
// - Each member of the cluster finds the same circle, because the answer is a part of the replicated state.
//   So holds are searched in the order of their grants, and waiters in the order of their arrival.
// - A flow that holds the lock itself makes a circle only within one session. A flow that died with its
//   process, and begins again in another process under the same name, waits for the lease of its own former
//   hold.

import type { FlowLink } from '@latchkey/protocol'
import { inForce } from './lock-answers.js'
import type { HoldRow, LockTransaction, WaiterRow } from './lock-transaction.js'
import type { Ask } from './queue.js'
import { membersOf } from './waiting-key-sets.js'

/** The most holds and waiters that one search visits. The limit bounds the work of one request. */
const MOST_STEPS = 1_000

/**
 * Returns the flows of the circle that these requests of one caller would close. Each flow comes with the key
 * for which it waits. The caller's flow is the first.
 */
export function circleOf(
  tx: LockTransaction,
  session: number,
  asks: readonly Ask[],
  isSet: boolean,
): readonly FlowLink[] | undefined {
  const [asker] = asks
  if (asker === undefined || (asker.flow === null && asker.within.length === 0)) return undefined
  const search = new Search(tx, session, asker)
  const start = search.follow(asks, isSet)
  if (start === undefined || !search.hasOwn) return undefined
  const stuckAnyway = search.stuck(false)
  if (stuckAnyway.has(start)) return undefined
  const stuck = search.stuck(true)
  return stuck.has(start) ? circleFrom(start, stuck, stuckAnyway) : undefined
}

/** A waiter, or the caller that would wait. */
interface Node {
  readonly name: string
  readonly needs: Need[]
}

/**
 * What is in the way at one key. The need is met when the stuck obstacles together weigh no more than
 * `spare`.
 */
interface Need {
  readonly key: Uint8Array
  readonly spare: number
  readonly inTheWay: InTheWay[]
}

interface InTheWay {
  readonly weight: number
  /** True for a hold of the flow that makes the request. */
  readonly isOwn: boolean
  /** The hold is stuck as long as one of these nodes is stuck. */
  readonly behind: readonly Node[]
}

interface WaitingPosition {
  readonly key: Uint8Array
  readonly permits: number
  /** Waiters with this arrival number or a higher one are not in the way. */
  readonly before: number
  /** Holds and waiters with a lower arrival number than this are not in the way. */
  readonly since: number
  readonly isAsker: boolean
  readonly isSet: boolean
}

class TooLong extends Error {}

class Search {
  hasOwn = false
  readonly #tx: LockTransaction
  readonly #session: number
  readonly #asker: Ask
  #steps = 0
  readonly #nodes = new Map<string, Node>()
  /** The steps that are still to be done to find the needs of nodes. */
  readonly #open: (() => void)[] = []

  constructor(tx: LockTransaction, session: number, asker: Ask) {
    this.#tx = tx
    this.#session = session
    this.#asker = asker
  }

  /**
   * Finds all waiters that are in the way of these requests, directly or through other waiters. Returns
   * undefined if there are too many waiters.
   */
  follow(asks: readonly Ask[], isSet: boolean): Node | undefined {
    const start: Node = { name: flowName(this.#asker), needs: [] }
    this.#nodes.set('', start)
    const at = { before: Number.POSITIVE_INFINITY, since: 0, isAsker: true, isSet }
    try {
      for (const { key, permits } of asks) start.needs.push(...this.#needs({ key, permits, ...at }))
      for (let next = this.#open.pop(); next !== undefined; next = this.#open.pop()) next()
      return start
    } catch (error) {
      if (error instanceof TooLong) return undefined
      throw error
    }
  }

  /** Returns the nodes that are stuck. With `own`, the holds of the caller's own flow count too. */
  stuck(own: boolean): ReadonlySet<Node> {
    const stuck = new Set(this.#nodes.values())
    for (let before = 0; before !== stuck.size; ) {
      before = stuck.size
      for (const node of stuck) if (node.needs.every((need) => goesAway(need, stuck, own))) stuck.delete(node)
    }
    return stuck
  }

  #needs(at: WaitingPosition): Need[] {
    const { key, permits } = at
    const exclusive = this.#tx.hold(key)
    const alone = inForce(exclusive, this.#tx.now) ? [exclusive] : []
    const most = this.#tx.permitsOf(key)
    const needs = [{ key, spare: 0, inTheWay: this.#holds(alone, at) }]
    if (permits === 0 || most !== undefined) {
      const spare = permits === 0 || most === undefined ? 0 : Math.max(0, most - permits)
      needs.push({ key, spare, inTheWay: this.#holds(this.#tx.sharedOf(key), at) })
    }
    needs.push({ key, spare: 0, inTheWay: this.#waiters(at, most === undefined) })
    return needs
  }

  #holds(rows: Iterable<HoldRow>, { since, isAsker }: WaitingPosition): InTheWay[] {
    const inTheWay: InTheWay[] = []
    for (const row of rows) {
      this.#step()
      if (row.arrival < since) continue
      const isOwn = this.#isOwn(row, isAsker)
      this.hasOwn ||= isOwn
      const waiters = this.#tx.waitersOfFlow(row.id)
      if (row.flow !== null) waiters.push(...this.#tx.waitersOfFlow(row.flow))
      const behind = isOwn ? [] : waiters.map((waiter) => this.#node(waiter, 0))
      if (isOwn || behind.length > 0) inTheWay.push({ weight: Math.max(1, row.permits), isOwn, behind })
    }
    return inTheWay
  }

  #waiters({ key, permits, before, since, isSet }: WaitingPosition, isOfLock: boolean): InTheWay[] {
    const inTheWay: InTheWay[] = []
    for (const waiter of this.#tx.queueOf(key)) {
      if (waiter.arrival >= before) break
      this.#step()
      const standsBeside = isOfLock && permits > 0 && waiter.permits > 0
      if (standsBeside || waiter.arrival < since || waiter.id === this.#asker.id) continue
      const behind = [this.#node(waiter, isSet ? 0 : waiter.setFirst)]
      inTheWay.push({ weight: 1, isOwn: false, behind })
    }
    return inTheWay
  }

  #isOwn({ id, flow, session }: HoldRow, isDirect: boolean): boolean {
    const { within, flow: name } = this.#asker
    // A caller that waits for its own hold of withLock was warned before the request, or wants to wait.
    if (within.includes(id)) return !isDirect
    if (name === null || flow !== name) return false
    return isDirect ? session === this.#session : this.#tx.sessionLife(session) !== undefined
  }

  #node(waiter: WaiterRow, since: number): Node {
    const first = waiter.setCount === 0 ? waiter.arrival : waiter.setFirst
    const known = this.#nodes.get(`${first}/${since}`)
    if (known !== undefined) return known
    const node: Node = { name: flowName(waiter), needs: [] }
    this.#nodes.set(`${first}/${since}`, node)
    this.#open.push(() => {
      for (const { key, permits, arrival } of membersOf(this.#tx, waiter)) {
        this.#step()
        const isSet = waiter.setCount > 0
        node.needs.push(...this.#needs({ key, permits, before: arrival, since, isAsker: false, isSet }))
      }
    })
    return node
  }

  #step(): void {
    if (++this.#steps > MOST_STEPS) throw new TooLong()
  }
}

const flowName = ({ flow, within, id }: Ask): string => flow ?? within[0] ?? id

function goesAway({ spare, inTheWay }: Need, stuck: ReadonlySet<Node>, own: boolean): boolean {
  let left = 0
  for (const { weight, isOwn, behind } of inTheWay)
    if (isOwn ? own : behind.some((node) => stuck.has(node))) left += weight
  return left <= spare
}

/**
 * Returns the shortest path from the caller to one of its own holds, through the nodes that are stuck
 * because of that hold.
 */
function circleFrom(start: Node, stuck: ReadonlySet<Node>, anyway: ReadonlySet<Node>): FlowLink[] {
  const ways: { readonly node: Node; readonly links: FlowLink[] }[] = [{ node: start, links: [] }]
  const seen = new Set([start])
  for (const { node, links } of ways) {
    for (const { key, inTheWay } of node.needs) {
      const way: FlowLink[] = [...links, [node.name, key]]
      if (inTheWay.some(({ isOwn }) => isOwn)) return way
      for (const next of inTheWay.flatMap(({ behind }) => behind)) {
        if (seen.has(next) || !stuck.has(next) || anyway.has(next)) continue
        seen.add(next)
        ways.push({ node: next, links: way })
      }
    }
  }
  return []
}
