// Rule: directed scenarios about the log: Figure 8 of the Raft paper, late messages, acknowledgements and
// disks.

import type { Entry } from '@latchkey/raft/core'
import type { Scenario } from './scenario.js'
import type { ScenarioCluster } from './scenario-cluster.js'

const termAt = (cluster: ScenarioCluster, id: string, index: number): number | undefined =>
  cluster.world.laws.observed.member(id).live.termAt(index)

const lastOf = (cluster: ScenarioCluster, id: string): number => cluster.view(id).lastIndex

export const replication: readonly Scenario[] = [
  {
    title: 'L1: Figure 8: an entry of an old term on a majority is not committed by counting',
    cluster: { members: 5, member: { maxAppendBytes: 1 } },
    async run(cluster) {
      await cluster.lead('a')
      // One entry of the first term reaches only b.
      const at = lastOf(cluster, 'a') + 1
      const { term: old } = cluster.view('a')
      for (const other of ['c', 'd', 'e']) cluster.cut('a', other)
      cluster.write('a')
      await cluster.until('b has the orphan', () => lastOf(cluster, 'b') === at)
      cluster.crash('a')
      cluster.demand(
        ['c', 'd', 'e'].every((id) => lastOf(cluster, id) < at),
        'the orphan reached others',
      )
      // e leads with another entry at this index. The entry reaches no other member, and e dies.
      cluster.drop(({ type, from }) => from === 'e' && (type === 'append' || type === 'heartbeat'))
      cluster.isolate('b')
      await cluster.elect('e')
      await cluster.until('e has written its own', () => termAt(cluster, 'e', at) === old + 1)
      await cluster.run(10)
      cluster.crash('e')
      // a returns, leads again, and sends its old entry to c. A majority then has this entry, but the entry
      // is of an old term. A new entry of a reaches only b.
      cluster.heal()
      cluster.drop(({ type, from, to, ...rest }) => {
        if (type !== 'append' || from !== 'a') return false
        const { entries } = rest as { readonly entries: readonly Entry[] }
        return (
          to === 'd' || (to === 'c' && lastOf(cluster, 'c') >= at && entries.some(({ term }) => term > old))
        )
      })
      cluster.start('a')
      await cluster.elect('a')
      await cluster.until(
        'c has the old entry',
        () => termAt(cluster, 'c', at) === old,
        3 * cluster.electionTimeout,
      )
      cluster.demand(
        lastOf(cluster, 'c') === at && lastOf(cluster, 'd') < at,
        'more than the old entry went out',
      )
      await cluster.runTimeouts(1)
      cluster.crash('a')
      cluster.heal()
      // e may win with its own entry. So the other entry at this index must not have been reported as
      // committed.
      cluster.crash('b')
      cluster.start('e')
      await cluster.elect('e')
      cluster.start('a')
      cluster.start('b')
      await cluster.settle('e')
      await cluster.mustWrite()
      await cluster.until('the old entry is replaced', () => termAt(cluster, 'a', at) === old + 1)
    },
  },
  {
    title: 'L2: a commit index that comes with an empty append reaches only what is known to agree',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      await cluster.mustWrite()
      const { lastIndex: agreed, term } = cluster.view('a')
      cluster.isolate('a')
      const orphan = cluster.write('a')
      await cluster.run(5)
      cluster.demand(lastOf(cluster, 'a') === agreed + 1, 'no orphan')
      // b leads a new term with another entry at this index.
      cluster.drop(({ type, to }) => to === 'a' && type === 'append')
      await cluster.lead('b')
      const { term: newTerm, commit } = cluster.view('b')
      const prevTerm = term
      cluster.inject({
        type: 'append',
        group: 0,
        from: 'b',
        to: 'a',
        term: newTerm,
        prevIndex: agreed,
        prevTerm,
        commit,
        entries: [],
        round: 0,
      })
      await cluster.run(5)
      cluster.demand(cluster.view('a').commit <= agreed, 'a has committed what it cannot know')
      cluster.heal()
      await cluster.runTimeouts(5)
      cluster.demand(!cluster.isDone(orphan), 'the orphan was acknowledged')
    },
  },
  {
    title: 'L3: an older, shorter append that comes again cuts nothing',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      const { lastIndex: prevIndex, term, lastIndex } = cluster.view('a')
      // Nothing is committed, because the leader receives no messages.
      cluster.drop(({ to }) => to === 'a')
      for (let i = 0; i < 4; i++) cluster.write('a')
      await cluster.until('b has all', () => lastOf(cluster, 'b') === lastIndex + 4)
      await cluster.run(20)
      const entry = cluster.world.laws.observed.member('a').live.entry(prevIndex + 1)
      cluster.inject({
        type: 'append',
        group: 0,
        from: 'a',
        to: 'b',
        term,
        prevIndex,
        prevTerm: term,
        commit: 0,
        entries: entry === undefined ? cluster.fail('no entry') : [entry],
        round: 0,
      })
      await cluster.run(5)
      cluster.demand(lastOf(cluster, 'b') === lastIndex + 4, 'b has cut its log')
    },
  },
  {
    title: 'L5: a sync that returns behind a truncation acknowledges nothing of what took its place',
    cluster: { members: 5 },
    async run(cluster) {
      await cluster.lead('a')
      await cluster.mustWrite()
      for (const other of ['c', 'd', 'e']) {
        cluster.cut('a', other)
        cluster.cut('b', other)
      }
      for (let i = 0; i < 3; i++) cluster.write('a')
      await cluster.run(50)
      cluster.crash('a')
      // b has already stored the next term when its entries are replaced. The disk of b is slow then.
      for (const other of ['c', 'd', 'e']) cluster.mend('b', other)
      cluster.drop(({ type, to }) => to === 'b' && (type === 'append' || type === 'heartbeat'))
      await cluster.lead('c')
      await cluster.run(50)
      cluster.heal()
      cluster.slowDisk('b', 2000)
      await cluster.runTimeouts(1)
      cluster.slowDisk('b', 1)
      cluster.start('a')
      await cluster.runTimeouts(5)
      await cluster.mustWrite()
    },
  },
  {
    title: 'L6, D11: a leader whose disk is slow does not count itself before its sync',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      cluster.slowDisk('a', 500)
      cluster.isolate('c')
      const request = cluster.write('a')
      await cluster.run(50)
      cluster.demand(!cluster.isDone(request), 'answered without a quorum of disks')
      await cluster.until('done', () => cluster.isDone(request))
    },
  },
  {
    title: 'L8: two logs of different terms come together',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      for (let round = 0; round < 3; round++) {
        const own = round % 2 === 0 ? 'a' : 'b'
        const other = round % 2 === 0 ? 'b' : 'a'
        cluster.isolate(own)
        for (let i = 0; i < 6; i++) cluster.write(own)
        await cluster.run(20)
        await cluster.elect(other)
        await cluster.mustWrite()
        cluster.heal()
        await cluster.until('all agree', () =>
          ['a', 'b', 'c'].every((id) => cluster.view(id).applied === cluster.view(other).lastIndex),
        )
      }
    },
  },
  {
    title: 'L9: a refusal older than an acknowledgement does not take the match back',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      await cluster.mustWrite()
      await cluster.run(20)
      const { term, lastIndex } = cluster.view('a')
      for (const rejected of [1, lastIndex - 1, lastIndex]) {
        cluster.inject({
          type: 'appendReply',
          group: 0,
          from: 'b',
          to: 'a',
          term,
          ok: false,
          rejected,
          hintIndex: 0,
          hintTerm: 0,
          round: 0,
        })
      }
      await cluster.mustWrite()
      await cluster.runTimeouts(3)
      cluster.demand(cluster.view('b').applied === cluster.view('a').lastIndex, 'b does not follow')
    },
  },
  {
    title: 'L11: one lost probe or append stalls nobody',
    cluster: { members: 3, member: { maxInflight: 1 } },
    async run(cluster) {
      await cluster.lead('a')
      const mend = cluster.drop(({ type, to }) => type === 'append' && to === 'b')
      await cluster.mustWrite()
      await cluster.run(30)
      mend()
      await cluster.until('b follows', () => cluster.view('b').applied === cluster.view('a').lastIndex)
      cluster.crash('b')
      cluster.start('b')
      await cluster.mustWrite()
      await cluster.until('b follows again', () => cluster.view('b').applied === cluster.view('a').lastIndex)
    },
  },
  {
    title:
      'L19, D8: power loss of all members at once: nothing is served before a commit of the new term, then all is there',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      for (let i = 0; i < 5; i++) await cluster.mustWrite()
      const { commit } = cluster.view('a')
      for (const id of ['a', 'b', 'c']) cluster.crash(id)
      for (const id of ['a', 'b', 'c']) cluster.start(id)
      await cluster.until('somebody leads', () => cluster.leader() !== undefined)
      await cluster.mustRead(cluster.leader() as string)
      cluster.demand(
        cluster.view(cluster.leader() as string).applied >= commit,
        'acknowledged writes are missing',
      )
    },
  },
  {
    title: 'D4, D5: a failed sync stops the member; it comes back with what was promised',
    cluster: { members: 3 },
    async run(cluster) {
      await cluster.lead('a')
      await cluster.mustWrite()
      cluster.member('b').sicken(1)
      await cluster.mustWrite()
      await cluster.run(20)
      cluster.demand(!cluster.member('b').isUp, 'b goes on after a failed sync')
      cluster.start('b')
      await cluster.mustWrite()
      await cluster.until('b follows', () => cluster.view('b').applied === cluster.view('a').lastIndex)
    },
  },
]
