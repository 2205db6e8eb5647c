// Rule: what LevelDB tells of its tables, as numbers.
//
// LevelDB lets each write wait for a millisecond once level 0 has eight tables, and lets writes wait for a
// merge once it has twelve.

export interface LevelFigures {
  /** How many tables each level has, from level 0 on. */
  readonly tables: readonly number[]
  /** How long tables were merged since the store was opened. */
  readonly mergeSeconds: number
  /** How many bytes merges have read and written, in steps of a mebibyte. */
  readonly mergeRead: number
  readonly mergeWritten: number
}

const LEVELS = 7
const MIB = 1024 * 1024

/** `text`: LevelDB's property 'leveldb.stats'. Levels without tables are not in it. */
export function levelFigures(text: string): LevelFigures {
  const tables = Array.from({ length: LEVELS }, () => 0)
  let [mergeSeconds, mergeRead, mergeWritten] = [0, 0, 0]
  for (const line of text.split('\n')) {
    const [level, files, , seconds, read, written] = line.trim().split(/\s+/).map(Number)
    if (level === undefined || tables[level] === undefined || written === undefined) continue
    tables[level] = files as number
    mergeSeconds += seconds as number
    mergeRead += (read as number) * MIB
    mergeWritten += written * MIB
  }
  return { tables, mergeSeconds, mergeRead, mergeWritten }
}
