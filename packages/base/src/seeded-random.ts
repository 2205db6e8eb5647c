// Rule: a random generator with a seed (sfc32), so that a test can repeat all random choices.

export interface Random {
  /** Returns an integer in [0, 2^32). */
  next(): number
  /** Returns a number in [0, 1). */
  float(): number
  /** Returns an integer in [low, high). */
  between(low: number, high: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  /**
   * Returns an independent generator for one part of the code. If that part draws more numbers, the numbers
   * of other parts stay the same.
   */
  fork(name: string): Random
}

export function seededRandom(seed: number | string): Random {
  let [a, b, c, d] = spread(String(seed))
  const next = (): number => {
    const t = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + t) | 0
    return t >>> 0
  }
  for (let i = 0; i < 12; i++) next()
  const float = () => next() / 2 ** 32
  const between = (low: number, high: number) => low + Math.floor(float() * (high - low))
  return {
    next,
    float,
    between,
    chance: (probability) => float() < probability,
    pick: (items) => items[between(0, items.length)] as (typeof items)[number],
    fork: (name) => seededRandom(`${seed}/${name}`),
  }
}

function spread(text: string): [number, number, number, number] {
  let hash = 0x811c9dc5
  const words: number[] = []
  for (let word = 0; word < 4; word++) {
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) ^ word
    words.push(hash | 0)
  }
  return words as [number, number, number, number]
}
