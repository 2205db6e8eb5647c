// Rule: turns LevelDB's report about its tables into numbers.
//
// When level 0 has eight tables, LevelDB delays each write by a millisecond. When level 0 has twelve tables,
// writes wait for a merge.

export interface LevelFigures {
  /** How many tables each level has, from level 0 on. */
  readonly tables: readonly number[]
  /** How many seconds merges of tables have taken since the store was opened. */
  readonly mergeSeconds: number
  /** How many bytes merges have read and written since the store was opened, in steps of a mebibyte. */
  readonly mergeRead: number
  readonly mergeWritten: number
}

const LEVELS = 7
const MIB = 1024 * 1024

/** Reads LevelDB's property 'leveldb.stats'. The property does not list levels without tables. */
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
