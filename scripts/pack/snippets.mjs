// Rule: the TypeScript that a README shows, as files that the compiler can judge: what is shown must be right.

/** The ```ts blocks of a Markdown text. */
export const blocksOf = (markdown) =>
  [...markdown.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block]) => block)

/** A block's imports at the top, the rest in a function of its own; a store is handed in, as a block further up has opened it. */
export function asFile(block) {
  const isImport = (line) => line.startsWith('import ')
  const lines = block.split('\n')
  return [
    "import type { Store as TheStore } from 'latchkey'",
    ...lines.filter(isImport),
    'declare function chargeCard(order: string, options: { signal: AbortSignal }): Promise<void>',
    'export async function shown(store: TheStore, order: string): Promise<void> {',
    '  void [store, order, chargeCard]',
    '  {',
    ...lines.filter((line) => !isImport(line)),
    '  }',
    '}\n',
  ].join('\n')
}

/** name of a file -> its text, of READMEs by the name that their files shall have. */
export const snippets = (readmes) =>
  Object.fromEntries(
    Object.entries(readmes).flatMap(([name, text]) =>
      blocksOf(text).map((block, i) => [`readme-${name}-${i + 1}.ts`, asFile(block)]),
    ),
  )
