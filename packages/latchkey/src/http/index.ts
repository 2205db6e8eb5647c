export { HttpRequestHandler } from './request-handler.js'
export { refuseOrigin } from './request-guards.js'
export type { CallerStore, HttpPorts } from './http-route-dependencies.js'
