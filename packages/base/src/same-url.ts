// Rule: compares addresses (URLs) that may be spelled differently.

/**
 * Returns the address in a fixed spelling, so that equal addresses give equal texts. A text that is no URL is
 * returned unchanged.
 */
export const canonicalUrl = (url: string): string =>
  URL.canParse(url) ? new URL(url).href.replace(/\/+$/, '') : url

/** Returns true if both texts are the same address, such as 'ws://h:1' and 'ws://H:1/'. */
export const sameUrl = (a: string, b: string): boolean => a === b || canonicalUrl(a) === canonicalUrl(b)
