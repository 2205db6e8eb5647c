// Types: the user of the page and the user's rights.

export type Right = 'read' | 'write' | 'admin'

interface SentPrefix {
  readonly prefix?: string
  readonly prefixBase64?: string
}

export interface Person {
  readonly name: string
  readonly rights: readonly Right[]
  readonly keys?: readonly SentPrefix[]
  readonly locks?: readonly SentPrefix[]
}

export const may = ({ rights }: Person, right: Right): boolean => rights.includes(right)
