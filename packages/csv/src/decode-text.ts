import { CsvError } from './csv-error.ts'

/** Largest file, in bytes. 100,000 rows of an import have about 10 MB. */
const MAX_BYTES = 64 * 1024 * 1024

/** Encodings by the marks at the beginning of a file. */
const MARKS = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: 'utf-8' },
  { bytes: [0xff, 0xfe], encoding: 'utf-16le' },
  { bytes: [0xfe, 0xff], encoding: 'utf-16be' },
] as const

/**
 * Decodes the bytes of a text file: by its byte order mark, else as UTF-8, else as Windows-1252, which spreadsheets of Western Europe and
 * America write, and of which Latin-1 is a part. Throws a `CsvError` for a file that is too large or no text.
 */
export function decodeText(bytes: Uint8Array): { text: string; encoding: string } {
  if (bytes.length > MAX_BYTES)
    throw new CsvError(
      `Found ${(bytes.length / 1024 / 1024).toFixed(0)} MiB, expected at most ${MAX_BYTES / 1024 / 1024} MiB. Import the file in parts.`,
    )
  const mark = MARKS.find(one => one.bytes.every((byte, at) => bytes[at] === byte))
  const encodings = mark ? [mark.encoding] : ['utf-8', 'windows-1252']
  for (const encoding of encodings)
    try {
      const text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
      if (text.includes('\0')) break
      return { text, encoding }
    } catch {
      // The next encoding may fit.
    }
  throw new CsvError('Found bytes that are no text. Save the file as CSV in UTF-8.')
}
