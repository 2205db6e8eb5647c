// Rule: the list of all kinds of faults.

export const FAULT_KINDS = [
  'crash',
  'crashAll',
  'crashPoint',
  'orphan',
  'storm',
  'isolate',
  'split',
  'oneWay',
  'bridge',
  'link',
  'burst',
  'pause',
  'suspend',
  'stall',
  'step',
  'drift',
  'slowDisk',
  'sickDisk',
  'rot',
  'transfer',
  'change',
  'compact',
] as const

export type FaultKind = (typeof FAULT_KINDS)[number]
