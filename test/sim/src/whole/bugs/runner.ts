// Driver: puts each known bug into a copy of the compiled packages, and reports whether the simulator finds it.

import { UnknownExport } from '../../run/changed-packages.js'
import { needsForeign } from '../draw-faults.js'
import { type ProductModules, loadProduct } from '../product-modules.js'
import { drawWhole, type WholeOptions } from '../options.js'
import { runWhole, type WholeMode } from '../run-seed.js'
import { wholeBugs } from './all.js'
import type { WholeBug } from './bug.js'

export interface WholeCatch {
  readonly bug: WholeBug
  /** The first seed that finds the bug. Undefined if no seed finds it. */
  readonly seed: number | undefined
  readonly how: string
}

const optionsFor = (bug: WholeBug, seed: number): WholeOptions => ({
  ...drawWhole(seed, bug.profile),
  ...bug.options,
})

const modeOf = ({ faults }: WholeBug): WholeMode => (faults === undefined ? {} : { faults })

/** Returns the first seed that fails with the bug and passes without it. */
export async function huntWhole(bug: WholeBug, real: ProductModules): Promise<WholeCatch> {
  const loaded = [await loadProduct(bug.changes)]
  const another = async (changes: WholeBug['changes']): Promise<ProductModules | undefined> => {
    if (!needsForeign(bug.faults)) return undefined
    loaded.push(await loadProduct(changes))
    return loaded.at(-1)?.product
  }
  try {
    const product = loaded[0]?.product as ProductModules
    const broken = { ...modeOf(bug), foreignProduct: await another(bug.changes) }
    const sound = { ...modeOf(bug), foreignProduct: await another([]) }
    for (let seed = 1; seed <= bug.seeds; seed++) {
      const options = optionsFor(bug, seed)
      const { verdict, law } = await runWhole(options, product, broken)
      if (verdict === 'pass' || (await runWhole(options, real, sound)).verdict !== 'pass') continue
      return { bug, seed, how: `${verdict}: ${law}` }
    }
    return { bug, seed: undefined, how: '' }
  } finally {
    for (const { remove } of loaded) remove()
  }
}

/** Prints one line for each bug. Returns false if no seed has found one of the bugs. */
export async function runWholeBugs(name: string, print: (line: string) => void): Promise<boolean> {
  const chosen = wholeBugs.filter((bug) => bug.name.includes(name) || bug.ids.includes(name))
  if (chosen.length === 0) {
    print(`no bug is called ${name}`)
    return false
  }
  const { product, remove } = await loadProduct()
  let missed = 0
  try {
    for (const bug of chosen) if (!(await tell(bug, product, print))) missed++
  } finally {
    remove()
  }
  print(`${chosen.length - missed} of ${chosen.length} bugs caught`)
  return missed === 0
}

async function tell(bug: WholeBug, real: ProductModules, print: (line: string) => void): Promise<boolean> {
  const name = bug.name.padEnd(65)
  const began = process.hrtime.bigint()
  try {
    const { seed, how } = await huntWhole(bug, real)
    const seconds = (Number(process.hrtime.bigint() - began) / 1e9).toFixed(1)
    const at = seed === undefined ? `MISSED in ${bug.seeds}` : `seed ${seed}`
    print(`${name} ${bug.profile.padEnd(10)} ${at.padEnd(10)} ${how} (${seconds} s)`)
    return seed !== undefined
  } catch (error) {
    if (!(error instanceof UnknownExport)) throw error
    print(`${name} ${error.message}`)
    return false
  }
}
