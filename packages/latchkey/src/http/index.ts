export { HttpDoor } from './request-handler.js'
export { refuseOrigin } from './request-guards.js'
export { Metrics, type MetricsPorts } from './metrics.js'
export type { HttpPorts } from './http-ports.js'
