export { HttpDoor } from './door.js'
export { refuseOrigin } from './guards.js'
export { Metrics, type MetricsPorts } from './metrics.js'
export type { HttpPorts } from './port.js'
