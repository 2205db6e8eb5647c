// Rule: finds out whether a request would close a circle of flows that wait for each other (docs/locks.md,
// section 13).
//
// A flow is what does one thing after the other: what callers name so, or a hold of withLock with all that is
// asked for within it. What stands in the way of a waiter, and what that waits for:
//
// | in the way                           | it goes away once                                                      |
// |--------------------------------------|------------------------------------------------------------------------|
// | a hold that it cannot stand beside   | every waiter of the hold's flow, or within the hold, was granted        |
// | the holds of a semaphore             | as many of them have gone as it takes for its permits                   |
// | an earlier waiter                    | that one was granted                                                    |
// | an earlier set of keys               | the same, but one who is no set passes it while that waits for what came before it |
//
// A waiter is stuck if what is in its way does not go away before somebody else who is stuck is granted. A
// request closes a circle if its caller would be stuck, and would not be if its own holds were free.
//
// Laws:
// - Whoever is refused could not have been granted the lock before a wait or a lease of the circle is over. So a
//   search that becomes too long finds nothing, and of a semaphore all holders count as free that are not
//   stuck. Only where a set of keys waits it is not certain: see the next law.
// - No circle of named flows waits for ever. So a set counts as in the way of those who may pass it now, if a
//   hold that was granted later keeps it: once what came before it is gone, nobody passes it any more.
// - Each member of the cluster finds the same circle: holds are looked at in the order of their grants, waiters
//   in the order of their arrival. An answer is a part of the state.
// - A flow that holds the lock itself is a circle only within one session. A flow that died with its process,
//   and begins again in another one under the same name, waits for the lease of its own former hold.

import type { FlowLink } from '@latchkey/protocol'
import { inForce } from './lock-answers.js'
import type { HoldRow, LockTransaction, WaiterRow } from './lock-transaction.js'
import type { Ask } from './queue.js'
import { membersOf } from './waiting-sets.js'

/** So many holds and waiters are looked at; that bounds the work of one request. */
const MOST_STEPS = 1_000

/**
 * The flows of the circle that these requests of one caller would close, each with the key that it waits for;
 * the first is the caller's.
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

/** One who waits, or would wait. */
interface Node {
  readonly name: string
  readonly needs: Need[]
}

/** What is in the way at one key. It goes away as soon as those that are stuck weigh no more than `spare`. */
interface Need {
  readonly key: Uint8Array
  readonly spare: number
  readonly inTheWay: InTheWay[]
}

interface InTheWay {
  readonly weight: number
  /** A hold of the asking flow. */
  readonly isOwn: boolean
  /** It is stuck as long as one of them is. */
  readonly behind: readonly Node[]
}

interface Place {
  readonly key: Uint8Array
  readonly permits: number
  /** Who came later is not in the way. */
  readonly before: number
  /** Only what came from then on is. */
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
  /** Nodes whose needs are not known yet. */
  readonly #open: (() => void)[] = []

  constructor(tx: LockTransaction, session: number, asker: Ask) {
    this.#tx = tx
    this.#session = session
    this.#asker = asker
  }

  /** Finds all who wait, directly or not, in the way of these requests. undefined: they are too many. */
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

  /** Those who are stuck; with `own`, as long as the asking flow keeps its holds. */
  stuck(own: boolean): ReadonlySet<Node> {
    const stuck = new Set(this.#nodes.values())
    for (let before = 0; before !== stuck.size; ) {
      before = stuck.size
      for (const node of stuck) if (node.needs.every((need) => goesAway(need, stuck, own))) stuck.delete(node)
    }
    return stuck
  }

  #needs(at: Place): Need[] {
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

  #holds(rows: Iterable<HoldRow>, { since, isAsker }: Place): InTheWay[] {
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

  #waiters({ key, permits, before, since, isSet }: Place, isOfLock: boolean): InTheWay[] {
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
    // A caller that waits at its own hold of withLock has been told so before it asked, or wants to wait.
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

/** The shortest way from the caller to one of its own holds, through those who are stuck because of it. */
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
