// Rule: the kinds of faults there are.

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
  'clog',
  'burst',
  'pause',
  'suspend',
  'stall',
  'step',
  'drift',
  'slowDisk',
  'failSync',
  'rot',
  'transfer',
  'change',
  'compact',
] as const

export type FaultKind = (typeof FAULT_KINDS)[number]
