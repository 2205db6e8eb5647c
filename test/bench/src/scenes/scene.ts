// Types: a scene is one thing to find out. It tells what it finds as it goes.

import type { LoadRow } from '../report/report.js'
import type { Latchkey } from '../systems/latchkey.js'
import type { System } from '../systems/system.js'

export interface Stage {
  readonly seconds: number
  readonly warmUpSeconds: number
  readonly callers: readonly number[]
  /** Smaller sizes, for a look in under a minute. */
  readonly quick: boolean
  row(row: LoadRow): void
  fact(id: string, what: string, value: number, unit: string): void
}

/** On any system. */
export interface SystemScene {
  readonly name: string
  readonly about: string
  readonly on: 'any'
  run(system: System, stage: Stage): Promise<void>
}

/** On a Latchkey of three processes, shared with others or `fresh`. */
export interface LatchkeyScene {
  readonly name: string
  readonly about: string
  readonly on: 'latchkey'
  readonly fresh?: true
  run(latchkey: Latchkey, stage: Stage): Promise<void>
}

/** With processes of its own. */
export interface OwnScene {
  readonly name: string
  readonly about: string
  readonly on: 'own'
  run(stage: Stage): Promise<void>
}

export type Scene = SystemScene | LatchkeyScene | OwnScene

export type { LoadRow }
