// Rule: computes rates and quantiles from two readings of a member's metrics.

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export class MetricsReading {
  readonly at: number
  readonly #samples: ReadonlyMap<string, readonly Sample[]>

  constructor(text: string, at: number) {
    this.at = at
    const samples = new Map<string, Sample[]>()
    for (const sample of samplesOf(text)) {
      const known = samples.get(sample.name)
      if (known === undefined) samples.set(sample.name, [sample])
      else known.push(sample)
    }
    this.#samples = samples
  }

  of(name: string, labels: Readonly<Record<string, string>> = {}): readonly Sample[] {
    const wanted = Object.entries(labels)
    const named = this.#samples.get(name) ?? []
    return wanted.length === 0 ? named : named.filter((one) => wanted.every(([k, v]) => one.labels[k] === v))
  }

  sum(name: string, labels?: Readonly<Record<string, string>>): number {
    return this.of(name, labels).reduce((all, { value }) => all + value, 0)
  }
}

function* samplesOf(text: string): Generator<Sample> {
  for (const line of text.split('\n')) {
    const [, name, inside, value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)/.exec(line) ?? []
    if (name?.startsWith('latchkey_') !== true) continue
    const labels = [...(inside ?? '').matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)]
    yield {
      name,
      labels: Object.fromEntries(labels.map(([, label, said]) => [label as string, said as string])),
      value: Number(value),
    }
  }
}

/**
 * Returns how much the counter has grown per second. Undefined if the counter has become smaller, because the
 * member has restarted.
 */
export function rate(
  before: MetricsReading | undefined,
  after: MetricsReading,
  name: string,
): number | undefined {
  if (before === undefined || after.at <= before.at) return undefined
  const grown = after.sum(name) - before.sum(name)
  return grown < 0 ? undefined : (grown * 1000) / (after.at - before.at)
}

/**
 * Returns a quantile in seconds. With `part` 0.99, 99 % of the calls between the two readings did not take
 * longer. Undefined if there was no call.
 */
export function quantile(
  before: MetricsReading | undefined,
  after: MetricsReading,
  name: string,
  part: number,
  labels?: Readonly<Record<string, string>>,
): number | undefined {
  const counts = new Map<number, number>()
  const add = (figures: MetricsReading, sign: number) => {
    for (const { labels: its, value } of figures.of(`${name}_bucket`, labels)) {
      const bound = its['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(its['le'])
      counts.set(bound, (counts.get(bound) ?? 0) + sign * value)
    }
  }
  add(after, 1)
  if (before !== undefined) add(before, -1)
  const bounds = [...counts].toSorted(([a], [b]) => a - b)
  const all = bounds.at(-1)?.[1] ?? 0
  if (all <= 0) return undefined
  let below = 0
  let under = 0
  for (const [bound, count] of bounds) {
    if (count >= all * part)
      return bound === Number.POSITIVE_INFINITY
        ? below
        : below + ((bound - below) * (all * part - under)) / Math.max(1, count - under)
    below = bound
    under = count
  }
  return below
}
