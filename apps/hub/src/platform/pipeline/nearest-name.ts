/**
 * Finds the name that a misspelt one was likely meant to be: the one with the fewest inserted, removed, replaced or swapped characters.
 * Undefined if more than a third of the characters would have to change.
 */
export function nearestName(misspelt: string, names: readonly string[]): string | undefined {
  let nearest: string | undefined
  let fewest = Math.max(1, Math.floor(misspelt.length / 3)) + 1
  for (const name of names) {
    // The difference in length is a lower bound of the number of changes, which spares most of the work for long names.
    if (Math.abs(name.length - misspelt.length) >= fewest) continue
    const changes = changesBetween(misspelt, name)
    if (changes < fewest) [nearest, fewest] = [name, changes]
  }
  return nearest
}

/** Number of changed characters between two texts (Levenshtein distance, where two swapped neighbours count as one change). */
function changesBetween(one: string, other: string): number {
  let before: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, column) => column)
  for (let row = 1; row <= one.length; row++) {
    const next = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped = row > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      next[column] = Math.min(
        last[column]! + 1,
        next[column - 1]! + 1,
        last[column - 1]! + (isSame ? 0 : 1),
        isSwapped ? before[column - 2]! + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = next
  }
  return last[other.length]!
}
