export type { Admit, Self } from './handshake-frames.js'
export { MEMBERS_PATH, WIRE } from './frames.js'
export { MemberNetwork } from './member-network.js'
export { type Listener, listen } from './members-only-server.js'
export { type NetOptions, type NetStats, type Timing, TIMING } from './network-settings.js'
export { GREETING_LIMIT, watchStranger } from './greeting-size-limit.js'
export { certifiedName, type MemberTls, serverTls, whyUntrusted } from './tls.js'
export type {
  PeerEvent,
  PeerInfo,
  PeerStats,
  PeerUrls,
  RefusedEvent,
  Transport,
  TransportEvents,
} from './transport-interface.js'
