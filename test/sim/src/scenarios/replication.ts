// Rule: directed scenarios about the log: Figure 8, old words that come late, acknowledgements and disks.

import type { Entry } from '@latchkey/raft/core'
import type { Scenario } from './scenario.js'
import type { Stage } from './stage.js'

const termAt = (stage: Stage, id: string, index: number): number | undefined =>
  stage.world.watch.ledger.member(id).live.termAt(index)

const lastOf = (stage: Stage, id: string): number => stage.view(id).lastIndex

export const replication: readonly Scenario[] = [
  {
    title: 'L1: Figure 8: an entry of an old term on a majority is not committed by counting',
    stage: { members: 5, member: { maxAppendBytes: 1 } },
    async run(stage) {
      await stage.lead('a')
      // One entry of the first term reaches b only.
      const at = lastOf(stage, 'a') + 1
      const { term: old } = stage.view('a')
      for (const other of ['c', 'd', 'e']) stage.cut('a', other)
      stage.write('a')
      await stage.until('b has the orphan', () => lastOf(stage, 'b') === at)
      stage.crash('a')
      stage.demand(
        ['c', 'd', 'e'].every((id) => lastOf(stage, id) < at),
        'the orphan reached others',
      )
      // e leads with another entry there, which reaches nobody, and dies.
      stage.drop(({ type, from }) => from === 'e' && (type === 'append' || type === 'heartbeat'))
      stage.isolate('b')
      await stage.elect('e')
      await stage.until('e has written its own', () => termAt(stage, 'e', at) === old + 1)
      await stage.run(10)
      stage.crash('e')
      // a is back, leads again and brings its old entry to c: now on a majority, but of an old term. Its new
      // one reaches b only.
      stage.heal()
      stage.drop(({ type, from, to, ...rest }) => {
        if (type !== 'append' || from !== 'a') return false
        const { entries } = rest as { readonly entries: readonly Entry[] }
        return (
          to === 'd' || (to === 'c' && lastOf(stage, 'c') >= at && entries.some(({ term }) => term > old))
        )
      })
      stage.start('a')
      await stage.elect('a')
      await stage.until(
        'c has the old entry',
        () => termAt(stage, 'c', at) === old,
        3 * stage.electionTimeout,
      )
      stage.demand(lastOf(stage, 'c') === at && lastOf(stage, 'd') < at, 'more than the old entry went out')
      await stage.runTimeouts(1)
      stage.crash('a')
      stage.heal()
      // e may win with its own entry: what was there must not have been called committed.
      stage.crash('b')
      stage.start('e')
      await stage.elect('e')
      stage.start('a')
      stage.start('b')
      await stage.settle('e')
      await stage.mustWrite()
      await stage.until('the old entry is replaced', () => termAt(stage, 'a', at) === old + 1)
    },
  },
  {
    title: 'L2: a commit index that comes with an empty append reaches only what is known to agree',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      await stage.mustWrite()
      const { lastIndex: agreed, term } = stage.view('a')
      stage.isolate('a')
      const orphan = stage.write('a')
      await stage.run(5)
      stage.demand(lastOf(stage, 'a') === agreed + 1, 'no orphan')
      // b leads a new term with another entry there.
      stage.drop(({ type, to }) => to === 'a' && type === 'append')
      await stage.lead('b')
      const { term: newTerm, commit } = stage.view('b')
      const prevTerm = term
      stage.inject({
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
      await stage.run(5)
      stage.demand(stage.view('a').commit <= agreed, 'a has committed what it cannot know')
      stage.heal()
      await stage.runTimeouts(5)
      stage.demand(!stage.isDone(orphan), 'the orphan was acknowledged')
    },
  },
  {
    title: 'L3: an older, shorter append that comes again cuts nothing',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      const { lastIndex: prevIndex, term, lastIndex } = stage.view('a')
      // Nothing is committed meanwhile: the leader hears nobody.
      stage.drop(({ to }) => to === 'a')
      for (let i = 0; i < 4; i++) stage.write('a')
      await stage.until('b has all', () => lastOf(stage, 'b') === lastIndex + 4)
      await stage.run(20)
      const entry = stage.world.watch.ledger.member('a').live.entry(prevIndex + 1)
      stage.inject({
        type: 'append',
        group: 0,
        from: 'a',
        to: 'b',
        term,
        prevIndex,
        prevTerm: term,
        commit: 0,
        entries: entry === undefined ? stage.fail('no entry') : [entry],
        round: 0,
      })
      await stage.run(5)
      stage.demand(lastOf(stage, 'b') === lastIndex + 4, 'b has cut its log')
    },
  },
  {
    title: 'L5: a sync that returns behind a truncation acknowledges nothing of what took its place',
    stage: { members: 5 },
    async run(stage) {
      await stage.lead('a')
      await stage.mustWrite()
      for (const other of ['c', 'd', 'e']) {
        stage.cut('a', other)
        stage.cut('b', other)
      }
      for (let i = 0; i < 3; i++) stage.write('a')
      await stage.run(50)
      stage.crash('a')
      // b already knows the next term, durably, when its entries are replaced; its disk is slow by then.
      for (const other of ['c', 'd', 'e']) stage.mend('b', other)
      stage.drop(({ type, to }) => to === 'b' && (type === 'append' || type === 'heartbeat'))
      await stage.lead('c')
      await stage.run(50)
      stage.heal()
      stage.slowDisk('b', 2000)
      await stage.runTimeouts(1)
      stage.slowDisk('b', 1)
      stage.start('a')
      await stage.runTimeouts(5)
      await stage.mustWrite()
    },
  },
  {
    title: 'L6, D11: a leader whose disk is slow does not count itself before its sync',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      stage.slowDisk('a', 500)
      stage.isolate('c')
      const request = stage.write('a')
      await stage.run(50)
      stage.demand(!stage.isDone(request), 'answered without a quorum of disks')
      await stage.until('done', () => stage.isDone(request))
    },
  },
  {
    title: 'L8: two logs of different terms come together',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      for (let round = 0; round < 3; round++) {
        const own = round % 2 === 0 ? 'a' : 'b'
        const other = round % 2 === 0 ? 'b' : 'a'
        stage.isolate(own)
        for (let i = 0; i < 6; i++) stage.write(own)
        await stage.run(20)
        await stage.elect(other)
        await stage.mustWrite()
        stage.heal()
        await stage.until('all agree', () =>
          ['a', 'b', 'c'].every((id) => stage.view(id).applied === stage.view(other).lastIndex),
        )
      }
    },
  },
  {
    title: 'L9: a refusal older than an acknowledgement does not take the match back',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      await stage.mustWrite()
      await stage.run(20)
      const { term, lastIndex } = stage.view('a')
      for (const rejected of [1, lastIndex - 1, lastIndex]) {
        stage.inject({
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
      await stage.mustWrite()
      await stage.runTimeouts(3)
      stage.demand(stage.view('b').applied === stage.view('a').lastIndex, 'b does not follow')
    },
  },
  {
    title: 'L11: one lost probe or append stalls nobody',
    stage: { members: 3, member: { maxInflight: 1 } },
    async run(stage) {
      await stage.lead('a')
      const mend = stage.drop(({ type, to }) => type === 'append' && to === 'b')
      await stage.mustWrite()
      await stage.run(30)
      mend()
      await stage.until('b follows', () => stage.view('b').applied === stage.view('a').lastIndex)
      stage.crash('b')
      stage.start('b')
      await stage.mustWrite()
      await stage.until('b follows again', () => stage.view('b').applied === stage.view('a').lastIndex)
    },
  },
  {
    title:
      'L19, D8: power loss of all members at once: nothing is served before a commit of the new term, then all is there',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      for (let i = 0; i < 5; i++) await stage.mustWrite()
      const { commit } = stage.view('a')
      for (const id of ['a', 'b', 'c']) stage.crash(id)
      for (const id of ['a', 'b', 'c']) stage.start(id)
      await stage.until('somebody leads', () => stage.leader() !== undefined)
      await stage.mustRead(stage.leader() as string)
      stage.demand(stage.view(stage.leader() as string).applied >= commit, 'acknowledged writes are missing')
    },
  },
  {
    title: 'D4, D5: a failed sync stops the member; it comes back with what was promised',
    stage: { members: 3 },
    async run(stage) {
      await stage.lead('a')
      await stage.mustWrite()
      stage.member('b').sicken(1)
      await stage.mustWrite()
      await stage.run(20)
      stage.demand(!stage.member('b').isUp, 'b goes on after a failed sync')
      stage.start('b')
      await stage.mustWrite()
      await stage.until('b follows', () => stage.view('b').applied === stage.view('a').lastIndex)
    },
  },
]
