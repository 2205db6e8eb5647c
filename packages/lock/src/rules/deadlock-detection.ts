// Rule: decides whether a request would close a deadlock, which is a circle of flows that wait for each other
// (docs/locks.md, section 13).
//
// A flow is work that takes its locks one at a time. All requests with the same flow name belong to one flow.
// Without a flow name, a hold of withLock and the requests of its callback belong to one flow. The table says
// what can block a waiter, and when each obstacle goes away:
//
// | obstacle                          | when the obstacle goes away                                      |
// |-----------------------------------|------------------------------------------------------------------|
// | a hold that excludes the waiter   | all waiters of the flow of that hold were granted                |
// | the holds of a semaphore          | enough of these holds have ended to free the wanted permits      |
// | an earlier waiter                 | that waiter was granted                                          |
// | an earlier waiter for a set       | that waiter was granted; a waiter for a single key may also      |
// |   of keys                         | overtake the set while an older hold or waiter blocks the set    |
//
// A waiter is stuck if one of its obstacles goes away only after another stuck waiter was granted. A request
// closes a circle if its caller would be stuck, and would not be stuck without its own holds.
//
// Laws:
// - No refusal without need: a request is refused only if nothing could break the circle before a wait limit
//   or a lease in the circle ends. So a search with too many steps reports no circle, and the search assumes
//   that each holder of a semaphore that is not stuck releases its permits. The next law has priority: while
//   a set of keys waits, a request may be refused without need.
// - No circle of named flows waits for ever. A waiter for one key may overtake a set of keys while a hold or
//   waiter that is older than the set blocks the set. If a newer hold blocks the set, the waiter must wait
//   for the set, so the set counts as an obstacle of the waiter.
// - Each member of the cluster finds the same circle, because the answer is a part of the replicated state.
//   So the search visits holds in the order of their grants, and waiters in the order of their arrivals.
// - A flow that waits for a lock that it holds itself is a circle only if the hold and the request have the
//   same session. A flow whose process died may begin again in another process, under the same name. The flow
//   then waits until the lease of its former hold ends.

import type { FlowLink } from '@latchkey/protocol'
import { inForce } from './hold-checks-and-answers.js'
import type { HoldRow, LockTransaction, WaiterRow } from './lock-transaction.js'
import type { Ask } from './queue.js'
import { membersOf } from './waiting-key-sets.js'

/**
 * How many holds and waiters one search visits at most, so that no request blocks the state machine for long.
 * After more steps the search ends and finds no circle.
 */
const MOST_STEPS = 1_000

/**
 * Returns the flows of the circle that these requests of one caller would close, or undefined if there is no
 * circle. The caller's flow comes first. Each flow comes with the key for which the flow waits.
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

/** One waiting caller. */
interface Node {
  readonly name: string
  readonly needs: Need[]
}

/**
 * What stands in the way of a waiting caller at one key. An obstacle is stuck if its owner can never go on.
 * The caller can still get the lock if the stuck obstacles together weigh at most `spare`. A hold of a
 * semaphore weighs one unit for each of its permits, and every other obstacle weighs one unit.
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
  readonly behind: readonly Node[]
}

interface WaitingPosition {
  readonly key: Uint8Array
  readonly permits: number
  /** Waiters with this arrival number or a higher number came later, so they are no obstacles. */
  readonly before: number
  /**
   * Holds and waiters with an arrival number below `since` are no obstacles. The search sets `since` for a
   * set of keys that blocks a waiter for one key: `since` is then the arrival number of the set. While a hold
   * or waiter that is older than the set blocks the set, the waiter may overtake the set. Otherwise `since`
   * is 0.
   */
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
  readonly #open: (() => void)[] = []

  constructor(tx: LockTransaction, session: number, asker: Ask) {
    this.#tx = tx
    this.#session = session
    this.#asker = asker
  }

  /**
   * Finds all waiters that block these requests, directly or through other waiters. Undefined after too many
   * steps.
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

  /**
   * Returns the waiting callers that are stuck. If `own` is true, the holds of the caller's own flow also
   * count as obstacles.
   */
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
    // A caller inside withLock that asks for the same lock again does not count as a circle. The client has
    // already refused a call without the option `wait`. A caller with `wait` has chosen to wait.
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
 * Returns the shortest path from the caller to one of its own holds, through waiting callers that would not
 * be stuck without these holds.
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
