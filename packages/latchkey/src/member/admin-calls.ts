// Driver: runs the admin calls. This file sends each call to the member that can execute it: this member, the
// leader, or the member that the call names.

import type { KvStore } from '@latchkey/kv'
import {
  type AdminCall,
  decodeAnswer,
  type DiskUse,
  errorOf,
  isError,
  LatchkeyError,
  type MemberFigures,
  type Metric,
  memberMetrics,
  show,
  type Status,
} from '@latchkey/protocol'
import { type HandOver, isMember, isVoter, type RaftNode } from '@latchkey/raft'
import { type MemberChanges, noSuchMember } from './membership-changes.js'
import type { Forwarder } from './forwarded-requests.js'
import type { Right } from './identity-and-rights.js'
import { endSession, listSessions } from './list-and-end-sessions.js'

export interface AdminPorts {
  readonly node: RaftNode
  readonly kv: KvStore
  readonly forwarder: Forwarder
  readonly changes: MemberChanges
  readonly status: () => Status
  readonly figures: () => MemberFigures
  readonly counters: (status: Status) => Metric[]
  /** Resolves to undefined if the member keeps its state only in memory. */
  readonly diskUse: () => Promise<DiskUse | undefined>
  readonly ready: () => Promise<void>
  handOver(to: string | undefined): Promise<HandOver>
  /** Undefined if members can be added. */
  readonly whyNoMembers: () => string | undefined
  /** Deletes this member's state. Another member then sends the state. */
  rebuild(): Promise<void>
}

const id = (value: unknown): string => {
  if (typeof value === 'string' && value !== '') return value
  throw new LatchkeyError('ERR_PROTOCOL', 'A call about a member came without the id of the member.')
}

type Run = (ports: AdminPorts, args: readonly unknown[]) => Promise<unknown>

const HERE: Partial<Record<AdminCall, Run>> = {
  status: (ports) => statusWithDisk(ports),
  metrics: async (ports) => {
    const status = await statusWithDisk(ports)
    return [...memberMetrics(status, ports.figures()), ...ports.counters(status)]
  },
  ready: (ports) => ports.ready(),
  'sessions.list': ({ node, kv }) => listSessions(node, kv),
  snapshot: async ({ kv, node, diskUse }) => {
    const before = await diskUse()
    // The log keeps every entry whose effects are not durable. So the state is flushed before the compaction.
    await kv.flush()
    node.compact(0, 0)
    await kv.reclaim()
    return { bytesBefore: totalOf(before), bytesAfter: totalOf(await diskUse()) }
  },
}

async function statusWithDisk({ status, diskUse }: AdminPorts): Promise<Status> {
  const disk = await diskUse()
  return disk === undefined ? status() : { ...status(), disk }
}

const totalOf = (use: DiskUse | undefined): number => (use === undefined ? 0 : use.stateBytes + use.logBytes)

const AT_LEADER: Partial<Record<AdminCall, Run>> = {
  'members.add': ({ changes }, [name, url]) => changes.add(id(name), id(url)),
  'members.promote': ({ changes }, [name]) => changes.promote(id(name)),
  'members.update': ({ changes }, [name, url]) => changes.update(id(name), id(url)),
  'members.remove': ({ changes }, [name]) => changes.remove(id(name)),
  'sessions.end': ({ node }, [session]) => endSession(node, session),
  transferLeadership: async (ports, [name]) => {
    const to = typeof name === 'string' ? name : undefined
    if (to === ports.node.options.id) return
    const { membership } = ports.node.raft
    if (to !== undefined && !isMember(membership, to)) throw noSuchMember(to, membership)
    if (to !== undefined && !isVoter(membership, to)) throw noSuchVoter(to)
    const outcome = await ports.handOver(to)
    if (outcome !== 'moved') throw notMoved(outcome, to)
  },
}

const noSuchVoter = (id: string): LatchkeyError =>
  new LatchkeyError(
    'ERR_MISMATCH',
    `${id} is a learner, which cannot lead. Promote it first (members.promote), or name a voter.`,
  )

function notMoved(outcome: 'stayed' | 'unknown', to: string | undefined): LatchkeyError {
  const where = to === undefined ? '' : ` to ${to}`
  if (outcome === 'stayed')
    return new LatchkeyError(
      'ERR_TIMEOUT',
      `The leadership did not move${where}. It moves only to a voter that runs and has caught up. Look at status().`,
    )
  return new LatchkeyError(
    'ERR_OUTCOME_UNKNOWN',
    `The leadership has not moved${where} in time, but may still move. Look at status() before you try again.`,
  )
}

export class Admin {
  readonly #ports: AdminPorts

  constructor(ports: AdminPorts) {
    this.#ports = ports
  }

  right(call: AdminCall): Right {
    return call === 'status' || call === 'metrics' || call === 'ready' ? 'read' : 'admin'
  }

  run(call: AdminCall, args: readonly unknown[]): Promise<unknown> {
    const here = Object.hasOwn(HERE, call) ? HERE[call] : undefined
    if (here !== undefined) return here(this.#ports, args)
    const { node } = this.#ports
    const target = call === 'members.rebuild' ? (args[0] as string) : node.raft.leader
    if (call === 'members.rebuild' && node.raft.membership.peers[target as string] === undefined)
      return Promise.reject(noSuchMember(target, node.raft.membership))
    if (target === undefined) return Promise.reject(new LatchkeyError('ERR_NO_LEADER'))
    if (target === node.options.id) return this.runHere(call, args)
    return this.#ask(target, call, args)
  }

  /** Never forwards the call to another member. */
  async runHere(call: AdminCall, args: readonly unknown[]): Promise<unknown> {
    if (call === 'members.rebuild') return this.#ports.rebuild()
    const run = Object.hasOwn(AT_LEADER, call) ? AT_LEADER[call] : undefined
    if (run === undefined)
      throw new LatchkeyError(
        'ERR_PROTOCOL',
        `A member cannot run the call ${show(call)} for another member.`,
      )
    if (this.#ports.node.role !== 'leader') throw new LatchkeyError('ERR_NO_LEADER')
    const why = call === 'members.add' ? this.#ports.whyNoMembers() : undefined
    if (why !== undefined) throw new LatchkeyError('ERR_FORBIDDEN', `No member can be added: ${why}.`)
    return (await run(this.#ports, args)) ?? null
  }

  #ask(target: string, call: AdminCall, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#ports.forwarder.call(target, call, args, (outcome) => {
        if (outcome.type !== 'returned') {
          return reject(
            new LatchkeyError(outcome.type === 'refused' ? 'ERR_NO_LEADER' : 'ERR_OUTCOME_UNKNOWN'),
          )
        }
        const answer = decodeAnswer(outcome.answer)
        if (isError(answer)) reject(errorOf(answer))
        else resolve(answer[1])
      })
    })
  }
}
