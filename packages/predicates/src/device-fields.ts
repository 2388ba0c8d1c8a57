/** A value that each device has, or may have. */
type DeviceField = {
  /** Type of the value, which decides how a condition compares it: a text with a text, a time with the seconds since then. */
  type: 'text' | 'time' | 'count' | 'boolean'
  /** Name in the answer of the device list, in exports and in `sort`, if it is not the field's name. */
  member?: string
}

/** A field with a column in the device list. */
export type ListField = DeviceField & {
  /** Name for people. */
  words: string
  /** Heading of the column, if it is not `words`. */
  heading?: string
  /** Whether the list can be sorted by the field. */
  sort?: true
  /** Whether no index provides this order, so that the hub may read all devices of the project for a page. */
  scans?: true
  /** Whether a condition may compare the field. */
  condition?: true
  /** Whether a condition compares the text ignoring case. */
  ignoresCase?: true
}

/**
 * Fields with a column in the device list, in the default order of the columns. The key is the name in conditions and in stored columns.
 * They are apart from the other fields, so that the console loads only these.
 */
export const LIST_FIELDS = {
  name: { type: 'text', words: 'Name', sort: true },
  deviceId: { type: 'text', words: 'Id', sort: true },
  firstSeen: { type: 'time', words: 'First Seen', sort: true },
  status: { type: 'text', words: 'Status', sort: true },
  pendingCertificatesCount: { type: 'count', words: 'Pending Certificates', sort: true },
  lastSeen: {
    type: 'time',
    member: 'lastSeenAt',
    words: 'Last seen',
    heading: 'Last seen or connected for',
    sort: true,
    scans: true,
    condition: true,
  },
  version: {
    type: 'text',
    member: 'currentVersion',
    words: 'Version',
    sort: true,
    scans: true,
    condition: true,
  },
  update: { type: 'text', member: 'updateState', words: 'Update', condition: true, ignoresCase: true },
} as const satisfies Record<string, ListField>

/**
 * Fields of a device. The contract, the hub and the console read them here; the hub has the SQL of each, the console the cell of each
 * column.
 */
export const DEVICE_FIELDS = {
  ...LIST_FIELDS,
  hostname: { type: 'text' },
  connected: { type: 'boolean', member: 'isConnected' },
  sharedIdentity: { type: 'boolean', member: 'hasSharedIdentity' },
  certificateEnds: { type: 'time', member: 'certificateEndsAt' },
  lastConnectedAt: { type: 'time' },
  targetVersion: { type: 'text', member: 'updateTargetVersion' },
  updateFailureCount: { type: 'count' },
  updateError: { type: 'text' },
} as const satisfies Record<string, DeviceField>

type Fields = typeof DEVICE_FIELDS

/** Name of a field of a device. */
export type DeviceFieldName = keyof Fields
/** Name of a field with a column in the device list. */
export type ListFieldName = keyof typeof LIST_FIELDS

type MemberOf<Name> = Name extends DeviceFieldName
  ? Fields[Name] extends { member: infer Member }
    ? Member
    : Name
  : never

/** Name of a field in the answer of the device list and in exports. */
export type DeviceMember = MemberOf<DeviceFieldName>

type NamesWith<Properties> = {
  [Name in ListFieldName]: Fields[Name] extends Properties ? Name : never
}[ListFieldName]

/** Names of the fields with a column that have these properties, in the order of the columns. */
export function fieldsWith<const Properties extends Partial<ListField>>(
  properties: Properties,
): NamesWith<Properties>[] {
  const isWanted = (field: ListField) =>
    Object.entries(properties).every(([key, value]) => field[key as keyof ListField] === value)
  return (Object.keys(LIST_FIELDS) as NamesWith<Properties>[]).filter(name => isWanted(LIST_FIELDS[name]))
}

/** Name of a field in the answer of the device list, in exports and in `sort`. */
export function memberOf<Name extends ListFieldName>(name: Name): MemberOf<Name> {
  const { member = name }: ListField = LIST_FIELDS[name]
  return member as MemberOf<Name>
}

/** Sort order of the device list that has devices with problems first, the gravest first. */
export const PROBLEMS_FIRST = 'problems' as const

/** Sort orders of the device list: by a field, ascending, and by problems. */
export const SORT_NAMES = [...fieldsWith({ sort: true }).map(memberOf), PROBLEMS_FIRST]
/** Sort orders that no index provides, so that the hub may read all devices of the project for a page. */
export const SCANNING_SORT_NAMES = [...fieldsWith({ scans: true }).map(memberOf), PROBLEMS_FIRST]
export type DeviceSortName = (typeof SORT_NAMES)[number]

/** Fields that a condition may compare with a text. */
export const TEXT_CONDITION_FIELDS = fieldsWith({ type: 'text', condition: true })
/** Fields that a condition may compare with the seconds since then. */
export const TIME_CONDITION_FIELDS = fieldsWith({ type: 'time', condition: true })
/** Fields that a condition may compare, in the order in which people choose them. */
export const CONDITION_FIELDS = [...TEXT_CONDITION_FIELDS, ...TIME_CONDITION_FIELDS]
