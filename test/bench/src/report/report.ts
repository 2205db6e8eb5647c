// Types: what a run found.

import type { Figures } from '../measure.js'

/** One load of one system. */
export interface LoadRow extends Figures {
  readonly system: string
  readonly load: string
  /** What all server processes together spent on one call, microseconds. Where it is known. */
  readonly serverMicros?: number
}

/** One number that is no load: a time, a size, a count. */
export interface Fact {
  /** By which goals find it. */
  readonly id: string
  readonly what: string
  readonly value: number
  readonly unit: string
}

export interface Verdict {
  readonly goal: string
  readonly wanted: string
  readonly found: string
  /** undefined: this run left out a scene or a system that the goal needs. */
  readonly met: boolean | undefined
  /** Beyond the goals: a run in which it is missed is a good one. */
  readonly aim?: true
}

export interface Machine {
  readonly cores: number
  readonly cpu: string
  readonly memoryGiB: number
  readonly node: string
  readonly system: string
  /** An append of 256 bytes and its sync through Node, median. */
  readonly syncMillis: number
  /** Work that waited for a core before the run began: anything near or above `cores` blurs every figure. */
  readonly loadAverage: number
}

export interface Report {
  readonly machine: Machine
  readonly settings: {
    readonly seconds: number
    readonly warmUpSeconds: number
    readonly quick: boolean
    readonly scenes: readonly string[]
  }
  /** What ran, and why what did not run did not. */
  readonly systems: { readonly name: string; readonly setting: string; readonly tookPart: boolean }[]
  readonly rows: LoadRow[]
  readonly facts: Fact[]
  /** Scenes that broke off, systems that failed their check. */
  readonly failures: string[]
}
