// Rule: the exports of the core.

export { isBookKeeping } from './membership-change.js'
export { describeEntry, describeMembership } from './state-as-text.js'
export {
  Configurations,
  NO_MEMBERS,
  decodeMembership,
  encodeMembership,
  isJoint,
  isMember,
  isVoter,
  membersOf,
} from './membership.js'
export type { RaftBoot, RaftOptions } from './options.js'
export type { Progress } from './progress.js'
export { isQuorum, majority, quorumValue, tally } from './quorum.js'
export { checkInvariants, checkStep, footprint } from './invariants.js'
export { type Proposal, Raft } from './raft.js'
export type { ElectionReason, LostCampaign } from './state.js'
export type { SnapshotPiece } from './send-snapshot.js'
export type * from './types.js'
