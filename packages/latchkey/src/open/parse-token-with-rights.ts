// Door: reads a token from one text, which may have rights before the secret: 'read+write:SECRET'.
//
// Law (C47): a text with a colon is refused if the part before the colon is not a list of rights. Without
// this law: an operator writes reed:SECRET. The whole text is then a token with all rights, and a client that
// sends SECRET is refused. The operator gives this client the whole text, and the client has all rights.

import { didYouMean } from '@latchkey/base'
import { RIGHTS, type Right, type TokenEntry } from '../member/identity-and-rights.js'

const HOW =
  'the rights are read, write and admin, joined with +; a secret that contains a colon needs rights in front of it: read+write+admin:SECRET'

/** `place` names the entry in error messages, which never contain a piece of the secret. */
export function parseToken(text: string, place: string): TokenEntry {
  const at = text.indexOf(':')
  if (at < 0) return { token: text }
  const words = text.slice(0, at).split('+')
  const wrong = words.find((word) => !isRight(word))
  // The message does not show the word, which may be a piece of the secret.
  if (wrong !== undefined)
    throw new TypeError(
      `${place}: there is no such right before the colon${didYouMean(wrong, RIGHTS)}; ${HOW}`,
    )
  const token = text.slice(at + 1)
  if (token === '') throw new TypeError(`${place}: the secret is missing after the rights`)
  return { token, rights: words as Right[] }
}

const isRight = (word: string): boolean => (RIGHTS as readonly string[]).includes(word)
