// Driver: a disk as one process holds it. When the process has died, in the middle of its own work too, its
// handle does nothing.

import type { SimDisk } from './disk.js'

export class DiskHandle {
  readonly #disk: SimDisk
  readonly #life: number

  constructor(disk: SimDisk) {
    this.#disk = disk
    this.#life = disk.life
  }

  get syncs(): number {
    return this.#disk.syncs
  }

  has(name: string): boolean {
    return this.#disk.has(name)
  }

  read(name: string): Uint8Array | undefined {
    return this.#disk.read(name)
  }

  length(name: string): number {
    return this.#disk.length(name)
  }

  append(name: string, bytes: Uint8Array): void {
    if (this.#alive()) this.#disk.write(name, this.#disk.length(name), bytes)
  }

  write(name: string, offset: number, bytes: Uint8Array): void {
    if (this.#alive()) this.#disk.write(name, offset, bytes)
  }

  truncate(name: string, length: number): void {
    if (this.#alive()) this.#disk.truncate(name, length)
  }

  sync(name: string, done: (ok: boolean) => void): void {
    if (this.#alive()) this.#disk.sync(name, done)
  }

  rename(from: string, to: string): void {
    if (this.#alive()) this.#disk.rename(from, to)
  }

  remove(name: string): void {
    if (this.#alive()) this.#disk.remove(name)
  }

  syncFolder(done: (ok: boolean) => void): void {
    if (this.#alive()) this.#disk.syncFolder(done)
  }

  #alive(): boolean {
    return this.#life === this.#disk.life
  }
}
