// Rule: masks this project's own WebSocket frames with zeros, which change no byte.

/**
 * WebSocket masks protect proxies from browsers, because a script in a browser could send bytes that look
 * like a request to a proxy. Members and this project's clients are not browsers. A mask of zeros is valid,
 * and saves work on every byte.
 */
export const noMask = (mask: Uint8Array): void => {
  mask.fill(0)
}
