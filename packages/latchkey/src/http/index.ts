export { HttpDoor } from './request-handler.js'
export { refuseOrigin } from './request-guards.js'
export type { Acting, HttpPorts } from './http-ports.js'
