// Driver: the floor under every commit here: three processes that write a frame durably and pass it on, and
// nothing else. What a lone caller, or one lock that goes from waiter to waiter, can come to at the most is
// seen by it: they are one commit after the other.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Call, measure, paced, steadily } from '../measure.js'
import type { OwnScene, Stage } from './scene.js'

const FRAME_BYTES = 128

/** A lock pair is two commits, one after the other. The scene `everyday` takes and releases a lock as often. */
const PER_SECOND = 10

const PROCESS = fileURLToPath(new URL('../floor-process.js', import.meta.url))

export const floor: OwnScene = {
  name: 'floor',
  about:
    'what three processes that write a frame durably and pass it on, and do nothing else, come to one after the other',
  on: 'own',
  run,
}

async function run(stage: Stage): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-bench-'))
  const children: ChildProcess[] = []
  const start = async (name: string, others: readonly number[]): Promise<number> => {
    const child = fork(PROCESS, [
      JSON.stringify({ file: join(folder, name), frameBytes: FRAME_BYTES, others }),
    ])
    children.push(child)
    return ((await once(child, 'message'))[0] as { port: number }).port
  }
  try {
    const followers = [await start('b', []), await start('c', [])]
    const send = await caller(await start('a', followers))
    const system = 'three processes, no logic'
    const pair: Call = async (number, turn) => (await send(number, turn)) && send(number, turn)
    const seconds = stage.seconds * 2
    stage.row({
      system,
      load: `two frames, ${PER_SECOND} times a second`,
      ...(await paced(pair, PER_SECOND, seconds)),
    })
    const figures = await steadily(() => measure(send, { ...stage, callers: 1 }))
    stage.row({ system, load: 'a frame on two of three disks', ...figures })
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Returns the call that sends one frame to the process at this port, and ends when the answer is there. */
async function caller(port: number): Promise<Call> {
  const socket = createConnection({ host: '127.0.0.1', port })
  await once(socket, 'connect')
  socket.setNoDelay(true)
  let heard = 0
  let whole: (() => void) | undefined
  socket.on('data', (bytes) => {
    heard += bytes.length
    if (heard % FRAME_BYTES === 0) whole?.()
  })
  let number = 0
  return async () => {
    const frame = Buffer.alloc(FRAME_BYTES)
    frame.writeUInt32LE(++number)
    const answered = new Promise<void>((resolve) => {
      whole = resolve
    })
    socket.write(frame)
    await answered
    return heard === number * FRAME_BYTES
  }
}
