/** Version of `nameKey`, the first character of each key. A change of the order raises it, so that a job makes all keys again. */
const VERSION = '1'

/** Bounds of the keys of this version, in byte order: the first is the lowest one, and all keys are below the second. */
export const NAME_KEYS = { from: VERSION, below: '2' } as const

/** Maximum length of the compared part of a key. With the name it stays below 2,700 bytes, the largest entry of an index. */
const MAX_FOLDED = 512

/** Separates the compared part from the name. It sorts before all characters of the compared part. */
const SEPARATOR = '\u0001'

/** Letters of the Latin script that Unicode does not decompose, with the letters that they sort as. */
const LETTERS: Readonly<Record<string, string>> = {
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ł: 'l',
  ŧ: 't',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ς: 'σ',
}
const LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g')

/**
 * Key of a device's name, or else of its host name, whose byte order is the natural order of names: numbers by their value, ignoring case
 * and accents. Names that differ in these only are in the order of their bytes, so different names have different keys. Letters of
 * different scripts are in the order of Unicode.
 */
export function nameKey(name: string): string {
  const text = name.replaceAll('\0', '').toWellFormed()
  const folded = text
    .normalize('NFKD')
    // Accents and marks that scripts share. Vowel signs of Indic scripts are letters to their readers and stay.
    .replace(/\p{Script=Inherited}/gu, '')
    .replaceAll(SEPARATOR, '')
    // The upper case first, because letters such as `ß` have only that in common with others.
    .toUpperCase()
    .toLowerCase()
    .replace(LETTER, letter => LETTERS[letter]!)
    .replace(/\p{Nd}+/gu, numberKey)
  return `${VERSION}${folded.slice(0, MAX_FOLDED).toWellFormed()}${SEPARATOR}${text}`
}

/**
 * Digits of a number that sort by its value, after their count: `0` to `8` for 1 to 9 digits, and `9` and four digits for more. Begins with a digit,
 * so numbers keep their place between other characters.
 */
function numberKey(number: string): string {
  const digits = Array.from(number, digitValue)
    .join('')
    .replace(/^0+(?=.)/, '')
  const { length } = digits
  return length < 10 ? `${length - 1}${digits}` : `9${String(length).padStart(4, '0')}${digits}`
}

/** Value of a decimal digit of any script. The ten digits of a script follow each other. */
function digitValue(digit: string): number {
  const code = digit.codePointAt(0)!
  let value = 0
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value++
  return value
}
