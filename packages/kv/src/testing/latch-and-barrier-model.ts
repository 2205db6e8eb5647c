// Rule: a model of latches and barriers with plain arrays and loops, which tests compare with the rules. Also
// the tables that the rules need, on maps.

import { binary } from '@latchkey/base'
import { type PartyOf, type PartyResult, PARTY_OF } from '@latchkey/protocol'
import type { BarrierRow, PartyRow, PartyTransaction } from '../rules/latch-and-barrier-tables.js'

export class MapParties implements PartyTransaction {
  readonly latches = new Map<string, number>()
  readonly barriers = new Map<string, BarrierRow>()
  parties: PartyRow[] = []
  told: PartyRow[] = []
  room = Number.POSITIVE_INFINITY
  namedRoom = Number.POSITIVE_INFINITY
  #arrival = 1

  latch(name: Uint8Array) {
    return this.latches.get(binary(name))
  }
  putLatch(name: Uint8Array, count: number) {
    if (this.latches.get(binary(name)) === undefined && this.latches.size >= this.namedRoom) return false
    this.latches.set(binary(name), count)
    return true
  }
  deleteLatch(name: Uint8Array) {
    this.latches.delete(binary(name))
  }
  barrier(name: Uint8Array) {
    return this.barriers.get(binary(name))
  }
  putBarrier(row: BarrierRow) {
    if (this.barriers.get(binary(row.name)) === undefined && this.barriers.size >= this.namedRoom)
      return false
    this.barriers.set(binary(row.name), row)
    return true
  }
  party(of: PartyOf, name: Uint8Array, id: string) {
    return this.parties.find((row) => isSame(row, of, name) && row.id === id)
  }
  waiting(of: PartyOf, name: Uint8Array) {
    return this.parties.filter((row) => isSame(row, of, name) && row.state === 'waiting')
  }
  waitingCount(of: PartyOf, name: Uint8Array) {
    return this.waiting(of, name).length
  }
  hasRoom() {
    return this.parties.length < this.room
  }
  putParty(row: PartyRow) {
    this.deleteParty(row)
    this.parties = [...this.parties, row].sort((a, b) => a.arrival - b.arrival)
  }
  deleteParty({ arrival }: PartyRow) {
    this.parties = this.parties.filter((row) => row.arrival !== arrival)
  }
  nextArrival() {
    return this.#arrival++
  }
  ended(row: PartyRow) {
    this.told.push(row)
  }
  partiesOf(session: number) {
    return this.parties.filter((row) => row.session === session)
  }
  dueParties(now: number) {
    const due = this.parties.filter(
      ({ state, deadline }) => state === 'waiting' && deadline !== 0 && now > deadline,
    )
    return due.sort((a, b) => a.deadline - b.deadline || a.arrival - b.arrival)
  }
}

const isSame = (row: PartyRow, of: PartyOf, name: Uint8Array) =>
  row.of === of && binary(row.name) === binary(name)

interface Someone {
  readonly of: PartyOf
  readonly name: string
  readonly id: string
  session: number
  deadline: number
  end: PartyResult | undefined
  readonly generation: number
}

/** A model of docs/latches.md. For each call, the model returns the answer that the store must give. */
export class PartyModel {
  readonly latches = new Map<string, number>()
  readonly generations = new Map<string, { over: number; parties: number }>()
  everybody: Someone[] = []

  #waiting(of: PartyOf, name: string): Someone[] {
    return this.everybody.filter((one) => one.of === of && one.name === name && one.end === undefined)
  }

  #find(of: PartyOf, name: string, id: string): Someone | undefined {
    return this.everybody.find((one) => one.of === of && one.name === name && one.id === id)
  }

  look(of: PartyOf, name: string, id: string): PartyResult {
    const found = this.#find(of, name, id)
    const count = of === PARTY_OF.latch ? (this.latches.get(name) ?? 0) : this.#waiting(of, name).length
    if (found === undefined) return ['unknown', 0, 0, count]
    const [state, generation, index] = found.end ?? ['waiting', found.generation, 0, 0]
    return [state, generation, index, count]
  }

  create(name: string, count: number): boolean {
    if (this.latches.has(name)) return false
    this.latches.set(name, count)
    return true
  }

  countDown(name: string, by: number): number | null {
    const before = this.latches.get(name)
    if (before === undefined) return null
    const left = Math.max(0, before - by)
    this.latches.set(name, left)
    if (left === 0) for (const one of this.#waiting(PARTY_OF.latch, name)) one.end = ['passed', 0, 0, 0]
    return left
  }

  remove(name: string): boolean {
    for (const one of this.#waiting(PARTY_OF.latch, name)) one.end = ['removed', 0, 0, 0]
    return this.latches.delete(name)
  }

  wait(name: string, id: string, session: number, deadline: number): PartyResult {
    const before = this.#find(PARTY_OF.latch, name, id)
    if (before?.end !== undefined) return this.look(PARTY_OF.latch, name, id)
    const count = this.latches.get(name)
    if (count === undefined) return ['absent', 0, 0, 0]
    if (count === 0) return ['passed', 0, 0, 0]
    if (before !== undefined) Object.assign(before, { session, deadline })
    else this.#come({ of: PARTY_OF.latch, name, id, session, deadline, end: undefined, generation: 0 })
    return ['waiting', 0, 0, count]
  }

  #come(one: Someone): void {
    this.everybody.push(one)
  }

  enter(name: string, id: string, session: number, parties: number, deadline: number): PartyResult {
    const of = PARTY_OF.barrier
    const before = this.#find(of, name, id)
    if (before !== undefined) {
      if (before.end === undefined) Object.assign(before, { session, deadline })
      return this.look(of, name, id)
    }
    const others = this.#waiting(of, name)
    const here = this.generations.get(name) ?? { over: 0, parties }
    this.generations.set(name, here)
    if (others.length === 0) here.parties = parties
    const generation = here.over + 1
    if (here.parties !== parties) return ['mismatch', generation, 0, here.parties]
    if (others.length + 1 < parties) {
      this.#come({ of, name, id, session, deadline, end: undefined, generation })
      return ['waiting', generation, 0, others.length + 1]
    }
    here.over++
    others.forEach((one, index) => {
      one.end = ['passed', generation, index, 0]
    })
    return ['passed', generation, parties - 1, 0]
  }

  leave(of: PartyOf, name: string, id: string): PartyResult {
    const result = this.look(of, name, id)
    const found = this.#find(of, name, id)
    this.everybody = this.everybody.filter((one) => one !== found)
    return result
  }

  move(of: PartyOf, name: string, id: string, session: number): PartyResult {
    const found = this.#find(of, name, id)
    if (found !== undefined) found.session = session
    return this.look(of, name, id)
  }

  endSession(session: number): void {
    const its = this.everybody.filter((one) => one.session === session)
    const broken = new Set(
      its.filter(({ of, end }) => of === PARTY_OF.barrier && end === undefined).map(({ name }) => name),
    )
    this.everybody = this.everybody.filter((one) => !its.includes(one))
    for (const name of broken) {
      const here = this.generations.get(name)
      if (here === undefined) continue
      here.over++
      for (const one of this.#waiting(PARTY_OF.barrier, name)) one.end = ['broken', here.over, 0, 0]
    }
  }

  expire(now: number): void {
    this.everybody = this.everybody.filter(
      ({ end, deadline }) => end !== undefined || deadline === 0 || now <= deadline,
    )
  }
}
