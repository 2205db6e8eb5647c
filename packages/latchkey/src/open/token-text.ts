// Door: a token as one text, with or without its rights in front: 'read+write:SECRET'.
//
// Law (C47): what stands before a colon is a right that there is, or the text is refused. The story without it: an operator writes
// reed:SECRET; that is a token with all rights whose text is reed:SECRET, and the reader that shows SECRET is refused. The operator then
// gives the reader the whole text, and with it the right to do everything.

import { didYouMean } from '@latchkey/base'
import { RIGHTS, type Right, type TokenEntry } from '../member/rights.js'

const HOW =
  'the rights are read, write and admin, with + between several, and a secret with a colon in it needs them in front: read+write+admin:SECRET'

/** `place`: as a message names it. No message holds a piece of the secret. */
export function parseToken(text: string, place: string): TokenEntry {
  const at = text.indexOf(':')
  if (at < 0) return { token: text }
  const words = text.slice(0, at).split('+')
  const wrong = words.find((word) => !isRight(word))
  // The word that is wrong may be a piece of the secret, and is not shown.
  if (wrong !== undefined)
    throw new TypeError(
      `${place}: there is no such right before the colon${didYouMean(wrong, RIGHTS)}; ${HOW}`,
    )
  const token = text.slice(at + 1)
  if (token === '') throw new TypeError(`${place}: a token is missing behind the rights that it is to have`)
  return { token, rights: words as Right[] }
}

const isRight = (word: string): boolean => (RIGHTS as readonly string[]).includes(word)
