export { planBoot } from './boot-plan.js'
export type { LogPort } from './log-writer.js'
export type {
  Applied,
  AppliedState,
  MachineAnswer,
  SnapshotReader,
  SnapshotWriter,
  StateMachine,
} from './state-machine-interface.js'
export { MACHINE_CASES, type MachineCase, type MachineHarness } from './state-machine-suite.js'
export { type HandOver, handOver } from './leadership-transfer-before-close.js'
export { type OpenedRaft, openRaft, type RaftOptions as OpenRaftOptions } from './open-replica.js'
export { RaftNode } from './node.js'
export type { LoopObserver, NodeBoot, NodeEvents, NodeOptions, NodePorts } from './node-types.js'
export type { LogRecord, Outcome, Refusal } from './callers-waiting-for-entries.js'
export type { ReadDone, ReadOutcome } from './linearizable-reads.js'
export { frameRecord, splitRecords } from './entry-commands.js'
export type { DirectoryNote } from './data-directory-in-wrong-cluster.js'
export { Replica } from './replica.js'
export type { ReplicaOptions, ReplicaPorts, TransportOwner } from './replica-types.js'
export { applyWholeLog, type CopiedMember, type WholeLog } from './apply-uncommitted-log-for-recovery.js'
