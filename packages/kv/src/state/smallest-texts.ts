// Rule: finds the smallest texts of a list without sorting the whole list.

/**
 * Returns the smallest wanted texts in their order. At most 2 * `count` texts are kept at a time. Most texts
 * are greater than the kept texts, and are not passed to `isWanted`.
 */
export function smallest(
  texts: Iterable<string>,
  count: number,
  isWanted: (text: string) => boolean,
): string[] {
  let kept: string[] = []
  let end: string | undefined
  for (const text of texts) {
    if ((end !== undefined && text > end) || !isWanted(text)) continue
    kept.push(text)
    if (kept.length < 2 * count) continue
    kept = kept.sort().slice(0, count)
    end = kept[count - 1]
  }
  return kept.sort().slice(0, count)
}
