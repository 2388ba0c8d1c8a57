import { RawJson, stringify } from '@muster/actions/exact-json'

type ShortValueProps = {
  value: unknown
  /** Whether the value is the beginning of a larger JSON text. */
  isCut?: boolean | undefined
  chars?: number
}

/** Longest value within a sentence, in characters. */
const LONGEST_VALUE = 60

/** A JSON value on one line, coloured by type. A long value is truncated. */
export function ShortValue({ value, isCut = false, chars = LONGEST_VALUE }: ShortValueProps) {
  const text = isCut ? String(value) : value === undefined ? 'nothing' : stringify(value)
  const shown = text.length > chars ? `${text.slice(0, chars)}…` : text
  return <bdi className={`mono json ${kindOf(value, isCut)}`}>{shown}</bdi>
}

function kindOf(value: unknown, isCut: boolean): string {
  if (isCut || (typeof value === 'object' && value !== null && !(value instanceof RawJson))) return ''
  return typeof value === 'string' ? 's' : 'n'
}
