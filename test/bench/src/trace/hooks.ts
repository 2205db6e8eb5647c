// Driver: notes what a process does for a call: bytes that come in and go out on its sockets, and writes to its disk.
// It is laid over Node's own functions, so that what is traced is what runs everywhere else.
//
// Each note has the time of the machine's one monotonic clock, which all processes share.

import * as fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'

export type Kind = 'in' | 'out' | 'disk begins' | 'disk is done'

export interface Note {
  readonly nanos: number
  readonly kind: Kind
  /** The ports of the socket; 0 where the note is of the disk. */
  readonly local: number
  readonly remote: number
  readonly bytes: number
}

/** The most notes that are kept; at the limit the oldest half is dropped. */
const MOST = 400_000

export const nanosNow = (): number => Number(process.hrtime.bigint())

/** What a stream calls with the bytes that came, and what it is called with for bytes to send. */
interface Inner {
  push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean
  _write(chunk: Uint8Array, encoding: BufferEncoding, done: (error?: Error | null) => void): void
  _writev(chunks: { chunk: Uint8Array }[], done: (error?: Error | null) => void): void
}

export interface Trace {
  readonly notes: readonly Note[]
  stop(): void
}

/** Begins at once, and ends with `stop`. */
export function trace(): Trace {
  const notes: Note[] = []
  const note = (kind: Kind, bytes: number, socket?: Socket) => {
    if (notes.length >= MOST) notes.splice(0, MOST / 2)
    const { localPort: local = 0, remotePort: remote = 0 } = socket ?? {}
    notes.push({ nanos: nanosNow(), kind, local, remote, bytes })
  }
  const ends = [hookSockets(note), hookDisk(note)]
  return {
    notes,
    stop: () => {
      for (const end of ends) end()
    },
  }
}

type Tell = (kind: Kind, bytes: number, socket?: Socket) => void

function hookSockets(note: Tell): () => void {
  const inner = Socket.prototype as unknown as Inner
  const own = Object.getOwnPropertyDescriptor(inner, 'push')
  const { push, _write, _writev } = inner
  inner.push = function (this: Socket & Inner, chunk, encoding) {
    if (chunk !== null) note('in', chunk.length, this)
    return push.call(this, chunk, encoding)
  }
  inner._write = function (this: Socket & Inner, chunk, encoding, done) {
    note('out', chunk.length, this)
    _write.call(this, chunk, encoding, done)
  }
  inner._writev = function (this: Socket & Inner, chunks, done) {
    const bytes = chunks.reduce((sum, { chunk }) => sum + chunk.length, 0)
    note('out', bytes, this)
    _writev.call(this, chunks, done)
  }
  return () => {
    if (own === undefined) Reflect.deleteProperty(inner, 'push')
    else Object.defineProperty(inner, 'push', own)
    Object.assign(inner, { _write, _writev })
  }
}

type Written = (error: Error | null, written: number) => void
type Write = (fd: number, bytes: Uint8Array, from: number, length: number, at: number, done: Written) => void

/** Only the log writes with this function: `fs.write` with a place in the file. */
function hookDisk(note: Tell): () => void {
  const calls = (fs as unknown as { default: { write: Write } }).default
  const { write } = calls
  calls.write = (fd, bytes, from, length, at, done) => {
    if (typeof done !== 'function') return write(fd, bytes, from, length, at, done)
    note('disk begins', length)
    write(fd, bytes, from, length, at, (error, written) => {
      note('disk is done', written)
      done(error, written)
    })
  }
  syncBuiltinESMExports()
  return () => {
    calls.write = write
    syncBuiltinESMExports()
  }
}
