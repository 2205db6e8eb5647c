// Driver: gives orders to a load process, a line each, and hears its answers: the order's number and a value as JSON.

import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

export class Orders {
  readonly #input: Writable
  readonly #waiting = new Map<string, Waiting>()
  #count = 0
  #ended = false

  /** Of a process whose standard input and output are pipes. */
  constructor(child: ChildProcess) {
    this.#input = child.stdin as Writable
    // Who has ended hears nothing more; the end itself is told below.
    this.#input.on('error', () => {})
    createInterface({ input: child.stdout as Readable }).on('line', (line) => this.#hear(line))
    child.once('exit', () => {
      this.#ended = true
      for (const { reject } of this.#waiting.values()) reject(hasEnded())
      this.#waiting.clear()
    })
  }

  /** No word has a blank or a line's end in it. */
  give(...words: readonly string[]): Promise<unknown> {
    if (this.#ended) return Promise.reject(hasEnded())
    const number = String(++this.#count)
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject })
      this.#input.write(`${number} ${words.join(' ')}\n`)
    })
  }

  #hear(line: string): void {
    const blank = line.indexOf(' ')
    const waiting = this.#waiting.get(line.slice(0, blank))
    // Libraries print lines of their own.
    if (waiting === undefined) return
    this.#waiting.delete(line.slice(0, blank))
    const value = JSON.parse(line.slice(blank + 1)) as unknown
    const { error } = (value ?? {}) as { error?: string }
    if (error === undefined) waiting.resolve(value)
    else waiting.reject(new Error(error))
  }
}

const hasEnded = () => new Error('the load process has ended')
