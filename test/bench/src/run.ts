// Driver: one run: systems started and stopped one after the other, so that nobody measures beside somebody
// else.

import { describeMachine } from './machine.js'
import type { Options } from './options.js'
import { PEERS, SCENES } from './plan.js'
import type { Report } from './report/report.js'
import type { LatchkeyScene, OwnScene, Stage, SystemScene } from './scenes/scene.js'
import { checkSystem } from './systems/check.js'
import { latchkey } from './systems/latchkey.js'
import type { System, SystemFactory } from './systems/system.js'

/** A scene that takes longer than this hangs. */
const SCENE_LIMIT_MILLIS = 10 * 60_000

export interface Teller {
  scene(text: string): void
  row(row: Report['rows'][number]): void
  fact(fact: Report['facts'][number]): void
  failure(text: string): void
}

export class Run {
  readonly report: Report
  readonly #options: Options
  readonly #tell: Teller
  readonly #stage: Stage
  readonly #checkBundle: () => void
  readonly #running = new Set<System>()

  /** `checkBundle`: throws if the bundle of the command has changed since the run began. */
  constructor(options: Options, machine: Report['machine'], tell: Teller, checkBundle: () => void) {
    const { seconds, quick, only } = options
    const warmUpSeconds = quick ? 0.5 : 1
    this.#options = options
    this.#tell = tell
    this.#checkBundle = checkBundle
    this.report = {
      ...{ machine, settings: { seconds, warmUpSeconds, quick, scenes: only } },
      ...{ systems: [], rows: [], facts: [], failures: [] },
    }
    this.#stage = {
      ...{ seconds, warmUpSeconds, quick, callers: quick ? [1, 16, 256] : [1, 16, 64, 256] },
      row: (row) => {
        this.report.rows.push(row)
        tell.row(row)
      },
      fact: (id, what, value, unit) => {
        this.report.facts.push({ id, what, value, unit })
        tell.fact({ id, what, value, unit })
      },
    }
  }

  static async prepare(options: Options, tell: Teller, checkBundle: () => void): Promise<Run> {
    return new Run(options, await describeMachine(), tell, checkBundle)
  }

  /** Rejects if the bundle of the command has changed. Nobody may publish the report then. */
  async all(): Promise<void> {
    const scenes = SCENES.filter((scene) => this.#options.only.includes(scene.name))
    const anywhere = scenes.filter((scene) => scene.on === 'any')
    if (anywhere.length > 0) await this.#on('Latchkey', latchkey, anywhere)
    if (anywhere.length > 0)
      for (const { name, start } of PEERS)
        if (this.#options.peers.includes(name)) await this.#on(name, start, anywhere)
    const shared = scenes.filter((scene) => scene.on === 'latchkey' && !scene.fresh)
    if (shared.length > 0) await this.#onLatchkey(shared as LatchkeyScene[])
    for (const scene of scenes) {
      if (scene.on === 'latchkey' && scene.fresh) await this.#onLatchkey([scene])
      if (scene.on === 'own') await this.#alone(scene)
    }
    this.#checkBundle()
  }

  /** What still runs, at once: for a signal. */
  async stop(): Promise<void> {
    await Promise.allSettled([...this.#running].map((system) => system.stop()))
  }

  async #on(name: string, start: SystemFactory, scenes: readonly SystemScene[]): Promise<void> {
    await this.#with(name, start, async (system) => {
      for (const fault of new Set(await checkSystem(system))) this.#fail(`${name}: ${fault}`)
      for (const scene of scenes)
        await this.#guarded(`${scene.name} on ${name}`, () => scene.run(system, this.#stage))
    })
  }

  async #onLatchkey(scenes: readonly LatchkeyScene[]): Promise<void> {
    await this.#with('Latchkey', latchkey, async (system) => {
      for (const scene of scenes) await this.#guarded(scene.name, () => scene.run(system, this.#stage))
    })
  }

  async #alone(scene: OwnScene): Promise<void> {
    this.#checkBundle()
    await this.#guarded(scene.name, () => scene.run(this.#stage), SCENE_LIMIT_MILLIS * 2)
  }

  async #with<Kind extends System>(
    name: string,
    start: () => Promise<Kind | string>,
    use: (system: Kind) => Promise<void>,
  ): Promise<void> {
    this.#checkBundle()
    let system: Kind | string
    try {
      system = await start()
    } catch (error) {
      return this.#fail(`${name} did not start: ${(error as Error).message}`)
    }
    const known = this.report.systems.some((one) => one.name === name)
    const told =
      typeof system === 'string'
        ? { setting: system, tookPart: false }
        : { setting: system.setting, tookPart: true }
    if (!known) this.report.systems.push({ name, ...told })
    if (typeof system === 'string') return this.#tell.scene(`${name}: ${system}`)
    this.#running.add(system)
    try {
      await use(system)
    } catch (error) {
      this.#fail(`${name}: ${String(error)}`)
    } finally {
      this.#running.delete(system)
      await system.stop()
    }
  }

  /** A scene that breaks off or hangs is told, and the run goes on. */
  async #guarded(name: string, run: () => Promise<void>, limit = SCENE_LIMIT_MILLIS): Promise<void> {
    this.#tell.scene(name)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`not done after ${limit / 1000} s`)), limit)
    })
    try {
      await Promise.race([run(), late])
    } catch (error) {
      this.#fail(`${name}: ${(error as Error).message}`)
    } finally {
      clearTimeout(timer)
    }
  }

  #fail(text: string): void {
    this.report.failures.push(text)
    this.#tell.failure(text)
  }
}
