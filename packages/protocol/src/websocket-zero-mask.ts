// Rule: the mask of this project's own WebSocket frames: zeros, which change no byte.

/**
 * WebSocket masks exist because of browsers: without them, the script of a web page could make a browser send
 * bytes that a proxy takes for a request. Members and this project's clients are no browsers. A mask of zeros
 * is valid, and saves work on every byte at both ends.
 */
export const noMask = (mask: Uint8Array): void => {
  mask.fill(0)
}
