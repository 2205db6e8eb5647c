// Rule: masks this project's own WebSocket frames with zeros, which change no byte.

/**
 * WebSocket masks protect proxies from browsers. Without masks, the script of a web page could make a browser
 * send bytes that look like another request to a proxy. Members and this project's clients are not browsers.
 * A mask of zeros is valid, and saves the sender and the receiver work on every byte.
 */
export const noMask = (mask: Uint8Array): void => {
  mask.fill(0)
}
