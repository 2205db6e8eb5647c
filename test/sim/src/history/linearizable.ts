// Rule: decides whether a history is linearizable, by the search of Wing and Gong. As in Lowe's version, the
// search remembers pairs of (placed operations, state) without a solution.
//
// An operation takes effect at some moment between its call and its return. An operation with unknown outcome
// has no return. It may take effect late or never.

/**
 * A sequential specification. `step` returns the next state, or undefined if the operation could not have its
 * answer in this state.
 */
export interface Model<State, Op> {
  readonly initial: State
  step(state: State, operation: Op): State | undefined
  key(state: State): string | number
}

export interface Timed {
  readonly call: number
  readonly end: number
}

export type Verdict =
  | { readonly ok: true }
  /** `stuckAt` is an operation that has no possible place. */
  | { readonly ok: false; readonly stuckAt: number }
  | { readonly ok: undefined; readonly reason: 'too-long' }

/** The calls and returns of all operations in the order of time, as a doubly linked list. */
interface Mark {
  readonly operation: number
  readonly isReturn: boolean
  previous: Mark | undefined
  next: Mark | undefined
  partner: Mark | undefined
}

const STEP_LIMIT = 2_000_000

export function linearizable<State, Op extends Timed>(
  operations: readonly Op[],
  model: Model<State, Op>,
): Verdict {
  const head = marks(operations)
  const done = new Uint32Array(Math.ceil(operations.length / 32))
  const seen = new Set<string>()
  const stack: { readonly mark: Mark; readonly state: State }[] = []
  let state = model.initial
  let at = head.next
  let deepest = 0
  let stuckAt = 0
  for (let steps = 0; mustGoOn(head); steps++) {
    if (steps > STEP_LIMIT) return { ok: undefined, reason: 'too-long' }
    if (at !== undefined && !at.isReturn) {
      const next = model.step(state, operations[at.operation] as Op)
      if (next !== undefined && isNew(seen, done, at.operation, model.key(next))) {
        stack.push({ mark: at, state })
        state = next
        lift(at)
        at = head.next
      } else at = at.next
      continue
    }
    // This is the end, or a return whose call has no place yet. So the last choice was wrong.
    if (stack.length >= deepest && at !== undefined) {
      deepest = stack.length
      stuckAt = at.operation
    }
    const last = stack.pop()
    if (last === undefined) return { ok: false, stuckAt }
    flip(done, last.mark.operation)
    state = last.state
    unlift(last.mark)
    at = last.mark.next
  }
  return { ok: true }
}

/** Only operations that have returned need a place. The others may never have happened. */
function mustGoOn(head: Mark): boolean {
  for (let mark = head.next; mark !== undefined; mark = mark.next) if (mark.isReturn) return true
  return false
}

function isNew(seen: Set<string>, done: Uint32Array, operation: number, state: string | number): boolean {
  flip(done, operation)
  const key = `${done.join()}|${state}`
  if (!seen.has(key)) {
    seen.add(key)
    return true
  }
  flip(done, operation)
  return false
}

const flip = (done: Uint32Array, operation: number): void => {
  done[operation >> 5] = (done[operation >> 5] as number) ^ (1 << (operation & 31))
}

function marks(operations: readonly Timed[]): Mark {
  const times: { readonly at: number; readonly mark: Mark }[] = []
  operations.forEach(({ call, end }, operation) => {
    const start: Mark = {
      operation,
      isReturn: false,
      previous: undefined,
      next: undefined,
      partner: undefined,
    }
    times.push({ at: call, mark: start })
    if (end === Number.POSITIVE_INFINITY) return
    start.partner = { operation, isReturn: true, previous: undefined, next: undefined, partner: start }
    times.push({ at: end, mark: start.partner })
  })
  // Operations that touch at one moment overlap, so calls come first.
  times.sort(
    (a, b) =>
      a.at - b.at || Number(a.mark.isReturn) - Number(b.mark.isReturn) || a.mark.operation - b.mark.operation,
  )
  const head: Mark = {
    operation: -1,
    isReturn: false,
    previous: undefined,
    next: undefined,
    partner: undefined,
  }
  let last = head
  for (const { mark } of times) {
    mark.previous = last
    last.next = mark
    last = mark
  }
  return head
}

function lift(mark: Mark): void {
  unlink(mark)
  if (mark.partner !== undefined) unlink(mark.partner)
}

function unlift(mark: Mark): void {
  if (mark.partner !== undefined) link(mark.partner)
  link(mark)
}

function unlink(mark: Mark): void {
  if (mark.previous !== undefined) mark.previous.next = mark.next
  if (mark.next !== undefined) mark.next.previous = mark.previous
}

function link(mark: Mark): void {
  if (mark.previous !== undefined) mark.previous.next = mark
  if (mark.next !== undefined) mark.next.previous = mark
}
