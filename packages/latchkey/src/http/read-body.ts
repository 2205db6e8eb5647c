// Driver: reads the body of one request up to a limit.

import type { IncomingMessage } from 'node:http'
import { LatchkeyError } from '@latchkey/protocol'
import type { Sender, WhyEnded } from '../member/unfinished-messages-limit.js'
import { TooSlow } from './http-status-of-errors.js'
import type { RequestBodyBytes } from './http-route-dependencies.js'

/**
 * In bytes. If a body is too large, the member still reads and discards up to this many bytes of the body
 * before it refuses the body. Many callers read a refusal only after they have sent the whole body.
 */
const MOST_DISCARDED = 16 * 1024 * 1024

/**
 * Rejects with ERR_TOO_LARGE if the body has more than `most` bytes. Rejects with TooSlow if the body arrives
 * too slowly, and with ERR_BUSY if the member has too many bytes of incomplete bodies. After a rejection, the
 * rest of the body is discarded.
 */
export function readBody(
  request: IncomingMessage,
  most: number,
  bodies: RequestBodyBytes,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const end = () => {
      bodies.left(sender)
      request.off('data', read)
      chunks.length = 0
    }
    const refuse = (error: Error) => {
      end()
      request.resume()
      reject(error)
    }
    const sender: Sender = {
      end: (why) => refuse(reasonOf(why)),
      destroy: () => void request.destroy(),
    }
    const read = (chunk: Buffer) => {
      size += chunk.length
      if (size <= most) chunks.push(chunk)
      else chunks.length = 0
      if (size > MOST_DISCARDED) return refuse(tooLarge(most))
      bodies.received(sender, size)
    }
    request.on('data', read)
    request.once('end', () => {
      const whole = Buffer.concat(chunks)
      end()
      if (size > most) reject(tooLarge(most))
      else resolve(whole)
    })
    const broke = (cause?: unknown) => {
      end()
      reject(new TypeError('The connection closed before the whole body had arrived.', { cause }))
    }
    request.once('error', broke)
    request.once('close', () => broke())
  })
}

const tooLarge = (most: number) =>
  new LatchkeyError('ERR_TOO_LARGE', `The body is larger than ${most} bytes.`)

const reasonOf = (why: WhyEnded): Error =>
  why === 'slow'
    ? new TooSlow()
    : new LatchkeyError(
        'ERR_BUSY',
        'This member has too many bytes of incomplete bodies and messages. Try again a little later.',
      )
