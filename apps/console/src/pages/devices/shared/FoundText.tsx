import type { ActionOutput } from '@muster/actions/client'

/** Where a search found a device. */
export type FoundMatch = ActionOutput<'organizations_Search'>['devices'][number]['match']

const FIELD_WORDS: Partial<Record<FoundMatch['field'], string>> = {
  hostname: 'Host name',
  ip: 'IP address',
  mac: 'MAC',
  serial: 'Serial number',
  label: 'Label',
}

/** Words for the field in which a search found a device; undefined for the name and the id, which are shown anyway. */
export function fieldWord({ field, name }: FoundMatch): string | undefined {
  return field === 'property' ? name : FIELD_WORDS[field]
}

/** A value in which the part from `start` to `end`, which matches the search text, is marked. */
export function FoundText({ value, start, end }: Pick<FoundMatch, 'value' | 'start' | 'end'>) {
  if (start >= end) return value
  return (
    <>
      {value.slice(0, start)}
      <mark>{value.slice(start, end)}</mark>
      {value.slice(end)}
    </>
  )
}
