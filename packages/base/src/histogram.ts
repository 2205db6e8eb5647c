// Rule: a histogram for Prometheus: it counts values by size, in fixed steps.

/**
 * In seconds, the upper limits of the steps. The first limit fits a fast disk, whose sync takes about 0.25
 * ms.
 */
const DURATION_STEPS: readonly number[] = [
  0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

export class Histogram {
  readonly steps: readonly number[]
  /**
   * For each step, how many values are at most its upper limit and above the upper limit of the step before.
   * The last element counts the values above all steps.
   */
  readonly #counts: number[]
  #sum = 0

  constructor(steps: readonly number[] = DURATION_STEPS) {
    this.steps = steps
    this.#counts = Array.from({ length: steps.length + 1 }, () => 0)
  }

  observe(value: number): void {
    let at = 0
    while (at < this.steps.length && value > (this.steps[at] as number)) at++
    this.#counts[at] = (this.#counts[at] as number) + 1
    this.#sum += value
  }

  get sum(): number {
    return this.#sum
  }

  /**
   * Returns for each step how many values were at most the upper limit of the step. The last element counts
   * all values.
   */
  cumulative(): number[] {
    let sum = 0
    return this.#counts.map((count) => (sum += count))
  }
}
