export type { PeerEvent, PeerInfo, RefusedEvent, Transport, TransportEvents } from './transport.js'
