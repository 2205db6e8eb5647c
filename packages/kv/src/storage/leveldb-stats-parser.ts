// Rule: converts LevelDB's report about its tables into numbers.
//
// With eight tables in level 0, LevelDB delays each write by a millisecond. With twelve tables in level 0,
// writes wait for a merge.

export interface LevelFigures {
  /** The number of tables in each level, from level 0 on. */
  readonly tables: readonly number[]
  /** The seconds that merges of tables have taken since the store was opened. */
  readonly mergeSeconds: number
  /** The bytes that merges have read and written since the store was opened, in steps of 1 MiB. */
  readonly mergeRead: number
  readonly mergeWritten: number
}

const LEVELS = 7
const MIB = 1024 * 1024

/** `text` is LevelDB's property 'leveldb.stats', which does not list levels without tables. */
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
