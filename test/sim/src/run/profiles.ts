// Rule: the list of the profiles of the simulator.

import { raftProfile } from '../raft/raft-profile.js'
import { wholeProfile } from '../whole/whole-profile.js'
import type { Profile } from './profile.js'

export const PROFILES: readonly Profile[] = [raftProfile, wholeProfile]

export const DEFAULT_PROFILE = raftProfile.name

export const profileOf = (name: string): Profile | undefined => PROFILES.find((one) => one.name === name)
