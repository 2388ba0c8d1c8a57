import type { ActionInput } from '@muster/actions/client'
import { isLabelKey } from '@muster/predicates'

/** What the keys of an import are. */
export type KeyKind = ActionInput<'devices_CreateBulkImport'>['by']

/** Kinds of keys, with their words. */
export const KEY_KINDS: readonly { value: KeyKind; label: string }[] = [
  { value: 'id', label: 'Device id' },
  { value: 'hostname', label: 'Host name' },
  { value: 'mac', label: 'MAC address' },
  { value: 'fingerprintId', label: 'Fingerprint id' },
  { value: 'property', label: 'A property' },
]

/** What a column of a file is used for. `key` of a label may not be valid while it is typed. */
export type ColumnUse = { kind: 'key' } | { kind: 'name' } | { kind: 'label'; key: string } | { kind: 'none' }

/** Use of the columns of a file, and what its keys are. */
export type Uses = { by: KeyKind; property: string; columns: readonly ColumnUse[] }

/** Headers by which a column is recognized, in small letters without blanks, dashes and underscores. */
const KEY_HEADERS: readonly [KeyKind, readonly string[]][] = [
  ['id', ['id', 'deviceid', 'device']],
  ['hostname', ['hostname', 'host']],
  ['mac', ['mac', 'macaddress']],
  ['fingerprintId', ['fingerprintid', 'fingerprint']],
]
const NAME_HEADERS = ['name', 'devicename', 'newname']
const LABEL_PREFIX = /^(label[.:]|dev\.muster\.labels\.)/

/**
 * Uses of the columns by their headers: the best column of keys, the name, and a label for each other header that can be the key of one. A person
 * changes what is wrong.
 */
export function guessUses(headers: readonly string[]): Uses {
  const folded = headers.map(header =>
    header
      .trim()
      .toLowerCase()
      .replaceAll(/[\s_-]/g, ''),
  )
  const found = KEY_HEADERS.flatMap(([kind, names]) => {
    const at = folded.findIndex(name => names.includes(name))
    return at === -1 ? [] : [{ kind, at }]
  })[0]
  const keyAt =
    found?.at ??
    Math.max(
      0,
      folded.findIndex(name => !NAME_HEADERS.includes(name)),
    )
  const isName = (at: number) => NAME_HEADERS.includes(folded[at]!) && folded.indexOf(folded[at]!) === at
  const columns = headers.map((header, at): ColumnUse => {
    if (at === keyAt) return { kind: 'key' }
    if (isName(at)) return { kind: 'name' }
    const isKeyToo = KEY_HEADERS.some(([, names]) => names.includes(folded[at]!))
    const key = labelKeyOf(header)
    return key === undefined || isKeyToo ? { kind: 'none' } : { kind: 'label', key }
  })
  return { by: found?.kind ?? 'property', property: found ? '' : headers[keyAt]!.trim(), columns }
}

/** The key of a label that a header means: `site` for `label.site`, `site`, `Site` and `SITE`. Undefined if it can be none. */
function labelKeyOf(header: string): string | undefined {
  const key = header.trim().replace(LABEL_PREFIX, '').toLowerCase().replaceAll(/\s+/g, '-')
  return isLabelKey(key) ? key : undefined
}

/** The columns of the import and their places in the file, or what is wrong with the uses. */
export function readUses({ by, property, columns }: Uses): {
  keyAt: number
  places: readonly { at: number; column: string }[]
  problem?: string
} {
  const keyAt = columns.findIndex(({ kind }) => kind === 'key')
  const places = columns.flatMap((use, at) =>
    use.kind === 'name'
      ? [{ at, column: 'name' }]
      : use.kind === 'label'
        ? [{ at, column: `label.${use.key.trim()}` }]
        : [],
  )
  const wrong = columns.find(use => use.kind === 'label' && !isLabelKey(use.key.trim()))
  const twice = places.find(({ column }, index) => places.findIndex(one => one.column === column) !== index)
  const problem =
    keyAt === -1
      ? 'Choose the column that names the device.'
      : by === 'property' && property.trim() === ''
        ? 'Type the name of the property.'
        : wrong
          ? 'A key of a label has small letters, digits, dot, dash, underscore, up to 63.'
          : twice
            ? `Two columns set ${twice.column === 'name' ? 'the name' : `the label ${twice.column.slice('label.'.length)}`}.`
            : places.length === 0
              ? 'Choose a column that is a name or a label.'
              : undefined
  return { keyAt, places, ...(problem !== undefined && { problem }) }
}
