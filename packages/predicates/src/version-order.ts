/** A version that was read once, to be compared often. */
type Version = {
  text: string
  epoch: string
  release: string
  /** Identifiers of a pre-release, which comes before the release. */
  preRelease: readonly string[] | undefined
  revision: string
}

/**
 * Texts in the order of the versions that they name, the oldest first. The schemes are those of `VersionRequirement` in conditions
 * (SemVer, CalVer, serial numbers, dates with a revision) and that of Debian packages:
 * - Numbers compare by their value, and `~` sorts before everything, the end too.
 * - `-` and a letter begin a pre-release, as in `1.0.0-rc.1`. `-` and a digit, or `-r` and a digit, begin a revision, as in `1.0-2`.
 * - `2:` at the beginning is an epoch. A `v` before the first digit does not count, nor does what follows `+` in a SemVer version.
 * Versions that are equal by these rules are in the natural order of their texts. Any text has a place.
 */
export function sortVersions(texts: readonly string[]): string[] {
  return texts
    .map(readVersion)
    .sort(compareVersions)
    .map(({ text }) => text)
}

/**
 * Order of two versions by the same rules: negative if the first is older. 0 for texts that name one version, such as `1.0.0` and
 * `v1.0.0+build.5`.
 */
export function orderOfVersions(left: string, right: string): number {
  return compareMeaning(readVersion(left), readVersion(right))
}

function readVersion(text: string): Version {
  const { epoch = '0', rest = '' } = /^(?:(?<epoch>\d+):)?v?(?<rest>.*)$/is.exec(text)!.groups!
  const numbers = /^\d+\.\d+\.\d+(?:-(?!r?\d)[^+]*)?(?=\+|$)/i.exec(rest)?.[0]
  const counted = numbers ?? rest
  const hyphen = counted.indexOf('-')
  const version = { text, epoch, release: counted, preRelease: undefined, revision: '' }
  if (hyphen === -1) return version
  if (/^-(?!r\d)[a-z]/i.test(counted.slice(hyphen))) {
    const preRelease = counted.slice(hyphen + 1).split('.')
    return { ...version, release: counted.slice(0, hyphen), preRelease }
  }
  const last = counted.lastIndexOf('-')
  return { ...version, release: counted.slice(0, last), revision: counted.slice(last + 1) }
}

function compareVersions(left: Version, right: Version): number {
  return (
    compareMeaning(left, right) || compareParts(left.text, right.text) || compareTexts(left.text, right.text)
  )
}

function compareMeaning(left: Version, right: Version): number {
  return (
    compareNumbers(left.epoch, right.epoch) ||
    compareParts(left.release, right.release) ||
    comparePreReleases(left.preRelease, right.preRelease) ||
    compareParts(left.revision, right.revision)
  )
}

/** Compares as SemVer 2.0 rule 11 does: numbers before words, and a longer list after its beginning. */
function comparePreReleases(left: Version['preRelease'], right: Version['preRelease']): number {
  if (!left || !right) return Number(left === undefined) - Number(right === undefined)
  for (const [at, one] of left.entries()) {
    const other = right[at]
    if (other === undefined) return 1
    const areNumbers = [/^\d+$/.test(one), /^\d+$/.test(other)] as const
    const order = areNumbers.every(Boolean)
      ? compareNumbers(one, other)
      : Number(areNumbers[1]) - Number(areNumbers[0]) || compareTexts(one, other)
    if (order !== 0) return order
  }
  return left.length - right.length
}

/** Compares as `dpkg --compare-versions` compares a part of a version: by turns words and numbers. */
function compareParts(left: string, right: string): number {
  const [ours, theirs] = [wordsAndNumbers(left), wordsAndNumbers(right)]
  for (let at = 0; at < Math.max(ours.length, theirs.length); at++) {
    const [one = '', other = ''] = [ours[at], theirs[at]]
    const order = at % 2 === 0 ? compareWords(one, other) : compareNumbers(one || '0', other || '0')
    if (order !== 0) return order
  }
  return 0
}

/** Parts of a text without digits at even places, and with digits at odd ones. */
function wordsAndNumbers(text: string): string[] {
  return text.split(/(\d+)/)
}

function compareWords(left: string, right: string): number {
  const [ours, theirs] = [[...left], [...right]]
  for (let at = 0; at < Math.max(ours.length, theirs.length); at++) {
    const order = rankOf(ours[at]) - rankOf(theirs[at])
    if (order !== 0) return order
  }
  return 0
}

/** Place of a character in a word: `~`, the end of the word, letters, all others. */
function rankOf(character: string | undefined): number {
  if (character === '~') return -1
  if (character === undefined) return 0
  const code = character.codePointAt(0)!
  return /[a-z]/i.test(character) ? code : code + 256
}

function compareNumbers(left: string, right: string): number {
  const [one, other] = [left.replace(/^0+/, ''), right.replace(/^0+/, '')]
  return one.length - other.length || compareTexts(one, other)
}

function compareTexts(left: string, right: string): number {
  return left < right ? -1 : Number(left > right)
}
