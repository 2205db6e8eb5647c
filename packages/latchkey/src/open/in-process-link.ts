// Driver: connects a store with the member in the same process. A reply always comes in a later microtask
// than its request.

import { microtask } from '@latchkey/base'
import type { Dial, OtherMembers, Route } from '@latchkey/client'
import { LatchkeyError, type LinkReply } from '@latchkey/protocol'
import { removed } from '../member/own-membership.js'
import type { Member } from '../member/member.js'
import { embeddedIn, type Identity } from '../member/identity-and-rights.js'

export interface LocalMember {
  /** Undefined while the member is opened again. */
  current(): Member | undefined
  /** Why no member will run in this process any more. Undefined if a member runs or will run. */
  failure(): LatchkeyError | undefined
  /** Calls `run` when the present member has closed. The returned function removes `run`. */
  onGone(run: () => void): () => void
  /** Calls `run` when a member runs, or will certainly never run. The returned function removes `run`. */
  onSettled(run: () => void): () => void
}

/**
 * `who` is the HTTP caller of the store. Without `who`, the store is the result of open(). Only that store
 * uses links to other members while this member has no contact with the leader (M28). HTTP callers can
 * connect to another member themselves.
 */
export const localRoute = (local: LocalMember, who?: Identity): Route =>
  who === undefined
    ? { dial: localDial(local), others: otherMembers(local) }
    : { dial: localDial(local, who) }

function localDial(local: LocalMember, who?: Identity): Dial {
  return async (events, signal) => {
    const member = await settled(local, signal)
    let replies: LinkReply[] = []
    const flush = () => {
      const batch = replies
      replies = []
      for (const reply of batch) events.reply(reply)
    }
    const identity = who ?? embeddedIn(member.id)
    const clientConnection = member.clientConnection(
      (reply) => {
        if (replies.push(reply) === 1) microtask(flush)
      },
      identity,
      'process',
    )
    const offs: (() => void)[] = []
    const leave = () => {
      for (const off of offs.splice(0)) off()
      clientConnection.close()
    }
    const tellRemoved = () => events.memberRemoved(member.isLeft ? removedError(member.id) : undefined)
    if (member.isLeft) tellRemoved()
    offs.push(member.on('removed', tellRemoved))
    offs.push(member.on('cutOff', (isCutOff) => events.cutOff?.(isCutOff)))
    if (member.links.isCutOff) events.cutOff?.(true)
    const gone = () => {
      leave()
      events.closed(local.failure() ?? new LatchkeyError('ERR_NO_LEADER', 'This member was closed.'))
    }
    offs.push(local.onGone(gone))
    return { send: (request) => clientConnection.send(request), close: leave }
  }
}

function otherMembers(local: LocalMember): OtherMembers {
  const gone = async () => {
    throw new LatchkeyError('ERR_NO_LEADER', 'This member is being opened.')
  }
  return {
    ids: () => local.current()?.links.others() ?? [],
    dialTo: (id) => local.current()?.links.dialTo(id) ?? gone,
  }
}

/**
 * After its removal, a member is connected to no other member. So calls of its store that need the cluster
 * fail immediately with this error.
 */
const removedError = (id: string) =>
  new LatchkeyError(
    'ERR_NO_LEADER',
    `${removed(id)} Only status() and stale reads are answered here: close this store.`,
    { retryable: false },
  )

/**
 * Resolves to the member when it is open. Without this wait, the store's attempt to connect would fail, and
 * the store would pause before its next attempt.
 */
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
