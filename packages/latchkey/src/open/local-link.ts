// Driver: a link into the own process: a client connection at this very member. Everything is told in a later microtask than it was asked.

import { microtask } from '@latchkey/base'
import type { Dial } from '@latchkey/client'
import { LatchkeyError, type LinkReply } from '@latchkey/protocol'
import { removed } from '../member/own-membership.js'
import type { Member } from '../member/member.js'
import { EMBEDDED, type Identity } from '../member/rights.js'

export interface LocalMember {
  /** The member as it stands now; undefined while it is being opened. */
  current(): Member | undefined
  /** Why there is none any more. */
  failure(): LatchkeyError | undefined
  /** Called when that member is gone. */
  onGone(run: () => void): () => void
  /** Called when there is a member, or will be none. */
  onSettled(run: () => void): () => void
}

/** `who`: as whom it asks; the process itself, unless it asks for somebody else. */
export function localDial(local: LocalMember, who?: Identity): Dial {
  return async (events, signal) => {
    const member = await settled(local, signal)
    let replies: LinkReply[] = []
    const flush = () => {
      const told = replies
      replies = []
      for (const reply of told) events.reply(reply)
    }
    const identity = who ?? { ...EMBEDDED, name: `embedded in ${member.id}` }
    const clientConnection = member.clientConnection((reply) => {
      if (replies.push(reply) === 1) microtask(flush)
    }, identity)
    const offs: (() => void)[] = []
    const leave = () => {
      for (const off of offs.splice(0)) off()
      clientConnection.close()
    }
    const tellRemoved = () => events.stranded(member.isLeft ? removedError(member.id) : undefined)
    if (member.isLeft) tellRemoved()
    offs.push(member.on('removed', tellRemoved))
    const gone = () => {
      leave()
      events.closed(local.failure() ?? new LatchkeyError('ERR_NO_LEADER', 'This member was closed.'))
    }
    offs.push(local.onGone(gone))
    return { send: (request) => clientConnection.send(request), close: leave }
  }
}

/** No other member is reached from here: what needs the cluster is refused at once, and not waited for. */
const removedError = (id: string) =>
  new LatchkeyError(
    'ERR_NO_LEADER',
    `${removed(id)} Only status() and stale reads are answered here: close this store.`,
    { retryable: false },
  )

/** A dial waits for a member that is being opened: trying again later would find it later. */
async function settled(local: LocalMember, signal: AbortSignal): Promise<Member> {
  for (;;) {
    const failure = local.failure()
    if (failure !== undefined) throw failure
    const member = local.current()
    if (member !== undefined) return member
    if (signal.aborted)
      throw new LatchkeyError('ERR_NO_LEADER', 'This member is being opened.', { cause: signal.reason })
    await new Promise<void>((resolve) => {
      const go = () => {
        off()
        signal.removeEventListener('abort', go)
        resolve()
      }
      const off = local.onSettled(go)
      signal.addEventListener('abort', go)
    })
  }
}
