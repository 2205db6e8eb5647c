// Types: the person who uses the page, and that person's rights.

export type Right = 'read' | 'write' | 'admin'

export interface SentPrefix {
  readonly prefix?: string
  readonly prefixBase64?: string
}

/** The identity of the person at this member. */
export interface Person {
  readonly name: string
  readonly rights: readonly Right[]
  readonly keys?: readonly SentPrefix[]
  readonly locks?: readonly SentPrefix[]
}

export const may = ({ rights }: Person, right: Right): boolean => rights.includes(right)
