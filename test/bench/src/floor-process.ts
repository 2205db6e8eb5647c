// Driver: one process of the floor's scene: it hears a frame, writes it to a file durably and passes it on.
// No consensus, no state, nobody's answer is checked: what is left is what sockets, disk and scheduler of
// this machine cost whoever commits anything.

import { constants, openSync, write, writeSync } from 'node:fs'
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net'

interface Order {
  readonly file: string
  /** A frame begins with its number, u32le. */
  readonly frameBytes: number
  /** Ports of those that have to write it too; of nobody: it is one of these. */
  readonly others: readonly number[]
}

const FILE_BYTES = 4 * 1024 * 1024

const { file, frameBytes, others } = JSON.parse(process.argv[2] as string) as Order
const fd = openSync(file, constants.O_CREAT | constants.O_WRONLY | constants.O_DSYNC)
writeSync(fd, Buffer.alloc(FILE_BYTES), 0, FILE_BYTES, 0)
let at = 0

function persist(frame: Buffer, done: () => void): void {
  write(fd, frame, 0, frame.length, at, (error) => {
    if (error) throw error
    done()
  })
  at = (at + frame.length) % FILE_BYTES
}

/** Calls back with each whole frame. */
function frames(socket: Socket, heard: (frame: Buffer) => void): void {
  let rest = Buffer.alloc(0)
  socket.setNoDelay(true)
  socket.on('data', (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    for (; rest.length >= frameBytes; rest = rest.subarray(frameBytes)) heard(rest.subarray(0, frameBytes))
  })
}

const dialled = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port }, () => resolve(socket)).once('error', reject)
  })

const peers = await Promise.all(others.map(dialled))

/**
 * To all at once; the answer goes when one other one and this one have it, or both others: a majority of
 * three.
 */
function lead(asker: Socket): void {
  let current = -1
  let durable = 0
  const counted = (frame: Buffer) => {
    if (frame.readUInt32LE(0) === current && ++durable === 2) asker.write(frame)
  }
  for (const peer of peers) frames(peer, counted)
  frames(asker, (frame) => {
    current = frame.readUInt32LE(0)
    durable = 0
    for (const peer of peers) peer.write(frame)
    persist(frame, () => counted(frame))
  })
}

const follow = (asker: Socket): void =>
  frames(asker, (frame) => persist(frame, () => void asker.write(frame)))

const server = createServer(peers.length > 0 ? lead : follow)
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
// Whoever started it is gone.
process.on('disconnect', () => process.exit(1))
