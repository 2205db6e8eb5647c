// Driver: owns the waiters of one client of a lock engine. Each waiter asks for the lock again after a push,
// and after the poll interval.

import { addByKey, binary, type Clock, deleteByKey, type Timer } from '@latchkey/base'
import type { OwnerResult } from '@latchkey/protocol'
import type { TakeAnswer } from './lock-engine-interface.js'

interface Asked {
  readonly answer: TakeAnswer
  readonly owner: OwnerResult | undefined
}

export type Ask = (signal: AbortSignal) => Promise<Asked>

interface Waiter {
  readonly run: (owner: OwnerResult) => void
  ask: Ask | undefined
  readonly end: AbortController
  isWoken: boolean
  isAsking: boolean
  timer: Timer | undefined
}

/**
 * Laws:
 * - A push may come before the answer that puts the waiter in the queue. The waiter remembers such a push,
 *   and asks again immediately after that answer. Without this law: the lock is released between the request
 *   and its answer, and the waiter sleeps although the lock is free.
 * - If a caller gives up its place in the queue, its waiter stops waiting for the answer to its request. The
 *   server may still apply this request, so PendingTakes keeps track of the request.
 */
export class EngineWaits {
  readonly #clock: Clock
  readonly #poll: number
  /**
   * Called when the server has permanently refused a waiter's request. Each waiting lock object of the client
   * then sends its own request once more. The lock object whose request was refused gets the error.
   */
  readonly #refused: () => void
  readonly #waiters = new Map<string, Set<Waiter>>()
  readonly #byId = new Map<string, Set<Waiter>>()

  constructor(clock: Clock, poll: number, refused: () => void) {
    this.#clock = clock
    this.#poll = poll
    this.#refused = refused
  }

  add(key: Uint8Array, id: string, run: (owner: OwnerResult) => void): () => void {
    const name = nameOf(key, id)
    const end = new AbortController()
    const waiter: Waiter = { run, end, ask: undefined, isWoken: false, isAsking: false, timer: undefined }
    addByKey(this.#waiters, name, waiter)
    addByKey(this.#byId, id, waiter)
    return () => {
      waiter.timer?.cancel()
      waiter.ask = undefined
      end.abort()
      deleteByKey(this.#waiters, name, waiter)
      deleteByKey(this.#byId, id, waiter)
    }
  }

  /**
   * Called when the engine has put the caller in the queue. The waiter then calls `ask` after each push and
   * after each poll interval.
   */
  queued(key: Uint8Array, id: string, answer: TakeAnswer, ask: Ask): void {
    for (const waiter of this.#waiters.get(nameOf(key, id)) ?? []) {
      waiter.ask = ask
      this.#arm(waiter, answer)
    }
  }

  /** If `id` is undefined, pushes may have been missed, so all waiters ask again. */
  wake(id: string | undefined): void {
    const woken =
      id === undefined ? [...this.#waiters.values()].flatMap((set) => [...set]) : this.#byId.get(id)
    for (const waiter of [...(woken ?? [])]) {
      waiter.isWoken = true
      void this.#ask(waiter)
    }
  }

  #arm(waiter: Waiter, { again }: Pick<TakeAnswer, 'again'>): void {
    waiter.timer?.cancel()
    if (waiter.isWoken) return void this.#ask(waiter)
    const after = Math.min(again ?? this.#poll, this.#poll)
    waiter.timer = this.#clock.after(after, () => void this.#ask(waiter), { ref: false })
  }

  async #ask(waiter: Waiter): Promise<void> {
    const { ask } = waiter
    if (ask === undefined || waiter.isAsking) return
    waiter.isAsking = true
    waiter.isWoken = false
    waiter.timer?.cancel()
    try {
      const { answer, owner } = await ask(waiter.end.signal)
      waiter.isAsking = false
      if (waiter.ask === undefined) return
      if (owner === undefined) return this.#arm(waiter, answer)
      waiter.ask = undefined
      waiter.run(owner)
    } catch {
      waiter.isAsking = false
      if (waiter.ask === undefined) return
      waiter.ask = undefined
      this.#refused()
    }
  }
}

const nameOf = (key: Uint8Array, id: string): string => `${id}/${binary(key)}`
