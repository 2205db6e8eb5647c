// Driver: reports what a state machine applies and installs, without a change of the state machine.

import type { KvMachine } from '@latchkey/kv'
import type { Entry, LogPosition, Membership } from '@latchkey/raft/core'
import type { Applied } from '@latchkey/raft/node'

interface MachineEvents<Notes> {
  /** Runs an apply, and returns the notes that were made during the call. */
  during<T>(apply: () => T): { readonly result: T; readonly notes: Notes }
  applied(entries: readonly Entry[], results: readonly Applied[], notes: Notes): void
  installed(position: LogPosition, membership: Membership): void
  /** The disk failed during the write of a snapshot, so the state machine keeps its state. */
  installFailed(): void
}

export function watchMachine<Notes>(machine: KvMachine, events: MachineEvents<Notes>): void {
  const apply = machine.apply.bind(machine)
  const receive = machine.receive.bind(machine)
  machine.apply = (entries, membershipAt) => {
    const { notes, result } = events.during(() => apply(entries, membershipAt))
    const look = (results: readonly Applied[]) => {
      events.applied(entries, results, notes)
      return results
    }
    return result instanceof Promise ? result.then(look) : look(result as readonly Applied[])
  }
  const orFailed = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      events.installFailed()
      throw error
    }
  }
  machine.receive = async (state) => {
    const writer = await orFailed(receive(state))
    return {
      write: (piece) => orFailed(writer.write(piece)),
      install: async () => {
        await orFailed(writer.install())
        events.installed(state.position, state.membership)
      },
      abort: () => writer.abort(),
    }
  }
}
