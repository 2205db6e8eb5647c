// Driver: scenes that chance alone meets too rarely: they wait for their moment, and strike there.

import type { Message } from '@latchkey/raft/core'
import type { Deed } from './deed.js'
import type { Station } from './members/station.js'

/** Microseconds that a machine needs to come back. */
const REBOOT = 20_000

/**
 * E1: a vote that was told is not forgotten by a power loss. The leader is cut off. As soon as another one has heard the vote that
 * makes it leader, whoever gave that vote loses power, and the new leader is cut off instead: the old one knows nothing of that
 * term, and asks for a vote in it too.
 */
export function forgottenVote({ world, who, undo }: Deed): void {
  const { ground, stations, wires } = world
  const alone = (one: Station) => separate(one, stations, undo, world)
  const meetAgain = alone(who)
  const off = wires.overhear((message) => {
    if (!isVote(message) || message.to === who.id || message.from === who.id) return
    off()
    const [giver, heir] = [message.from, message.to].map((id) => stations.find((one) => one.id === id))
    if (giver === undefined || heir === undefined) return
    // Behind the step that makes it leader.
    ground.later(0, () => {
      giver.crash(true)
      alone(heir)
      meetAgain()
      ground.later(REBOOT, () => giver.boot())
    })
  })
  undo(off)
}

/**
 * D12: one dies, and all others lose their states but not their logs. One of them may have the only log that can win: it leads
 * without a state to send, while others ask it for one, until the dead one is back.
 */
export function statesLost({ world, peer, undo }: Deed): void {
  peer.crash(false)
  undo(() => peer.boot())
  for (const station of world.stations) if (station !== peer) station.loseState()
}

const isVote = (message: Message) => message.type === 'voteReply' && message.granted

/** Returns what mends it, which happens once, with the fault itself at the latest. */
function separate(
  one: Station,
  all: readonly Station[],
  undo: Deed['undo'],
  { cuts }: Deed['world'],
): () => void {
  const me = one.host.index
  const others = all.filter((other) => other !== one).map(({ host }) => host.index)
  for (const other of others) {
    cuts.cut(me, other)
    cuts.cut(other, me)
  }
  let mended = false
  const mend = () => {
    if (mended) return
    mended = true
    for (const other of others) {
      cuts.mend(me, other)
      cuts.mend(other, me)
    }
  }
  undo(mend)
  return mend
}
