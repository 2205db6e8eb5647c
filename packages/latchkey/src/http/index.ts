export { HttpRequestHandler } from './request-handler.js'
export { refuseOrigin } from './check-identity-origin-and-host.js'
export type { CallerStore, HttpPorts } from './http-route-dependencies.js'
