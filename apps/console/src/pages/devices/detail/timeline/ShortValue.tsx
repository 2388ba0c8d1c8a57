import { RawJson, stringify } from '@muster/actions/exact-json'
import json from '../../../../ui/lazy/JsonValue.module.css'
import { WithBreaks } from '../../../../ui/lazy/WithBreaks.tsx'
import { cut } from '../cut.ts'

type ShortValueProps = {
  value: unknown
  /** Whether the value is the beginning of a larger JSON text. */
  isCut?: boolean | undefined
  chars?: number
}

/** Maximum length, in characters, of a value within a sentence. */
const LONGEST_VALUE = 60

/** A JSON value on one line, coloured by type. A long value is truncated. */
export function ShortValue({ value, isCut = false, chars = LONGEST_VALUE }: ShortValueProps) {
  const text = isCut ? String(value) : value === undefined ? 'nothing' : stringify(value)
  return (
    <bdi className={`mono ${json.json} ${kindOf(value, isCut)}`}>
      <WithBreaks text={cut(text, chars)} at={/(?<=,)/} />
    </bdi>
  )
}

function kindOf(value: unknown, isCut: boolean): string {
  if (isCut || (typeof value === 'object' && value !== null && !(value instanceof RawJson))) return ''
  return typeof value === 'string' ? json.text : json.number
}
