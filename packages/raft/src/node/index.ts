export { sameUrl } from './addresses.js'
export { type BootPlan, type LogExtent, planBoot } from './boot.js'
export type { LogPort } from './log-writer.js'
export type {
  Applied,
  AppliedState,
  MachineAnswer,
  SnapshotReader,
  SnapshotWriter,
  StateMachine,
} from './machine.js'
export { MACHINE_CASES, type MachineCase, type MachineHarness } from './machine-suite.js'
export { type HandOver, handOver } from './hand-over.js'
export { type OpenedRaft, openRaft, type RaftOptions as OpenRaftOptions } from './open.js'
export { RaftNode } from './node.js'
export type { NodeBoot, NodeEvents, NodeOptions, NodePorts } from './node-types.js'
export type { LogRecord, Outcome, Refusal } from './proposals.js'
export type { ReadDone, ReadOutcome } from './reads.js'
export { frameRecord, splitRecords } from './records.js'
export type { DirectoryNote } from './one-cluster.js'
export { Replica } from './replica.js'
export type { ReplicaOptions, ReplicaPorts, TransportOwner } from './replica-types.js'
