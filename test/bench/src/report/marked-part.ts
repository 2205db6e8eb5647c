// Rule: the bench writes only the part of a page between two marks. People write the rest of the page.

export type Marks = readonly [begin: string, end: string]

/** `name`: which part, if a page has several parts. The part of a whole run has no name. */
export const benchMarks = (name = ''): Marks => {
  const part = name === '' ? 'bench' : `bench ${name}`
  return [`<!-- ${part}: from here on made by the bench -->`, `<!-- ${part}: up to here -->`]
}

/** The page with this text between the marks; undefined: the page has no such marks. */
export function withPart(page: string, [begin, end]: Marks, text: string): string | undefined {
  const from = page.indexOf(begin)
  const to = page.indexOf(end)
  if (from < 0 || to < from) return undefined
  return `${page.slice(0, from)}${begin}\n\n${text.trimEnd()}\n\n${page.slice(to)}`
}
