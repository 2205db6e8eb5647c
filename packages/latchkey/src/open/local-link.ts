// Driver: a link into the own process: a seat at this very member. Everything is told in a later microtask than it was asked.

import type { Dial } from '@latchkey/client'
import { LatchkeyError, type LinkReply } from '@latchkey/protocol'
import type { Member } from '../member/member.js'

export interface LocalMember {
  /** The member as it stands now; undefined while it is being opened anew. */
  current(): Member | undefined
  /** Called when that member is gone. */
  onGone(run: () => void): () => void
}

export function localDial(local: LocalMember): Dial {
  return async (events) => {
    const member = local.current()
    if (member === undefined) throw new LatchkeyError('ERR_NO_LEADER', 'This member is being opened anew.')
    let replies: LinkReply[] = []
    const flush = () => {
      const told = replies
      replies = []
      for (const reply of told) events.reply(reply)
    }
    const seat = member.seat(
      (reply) => {
        if (replies.push(reply) === 1) queueMicrotask(flush)
      },
      () => true,
    )
    const off = local.onGone(() => {
      seat.close()
      events.closed(new LatchkeyError('ERR_NO_LEADER', 'This member was closed.'))
    })
    return {
      send: (request) => seat.send(request),
      close: () => {
        off()
        seat.close()
      },
    }
  }
}
