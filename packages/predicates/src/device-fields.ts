/** A value that each device has, or may have. */
type DeviceField = {
  /** Type of the value, which decides how a condition compares it: a text with a text, a time with the seconds since then. */
  type: 'text' | 'time' | 'count' | 'boolean'
  /** Name in the answer of the device list, in exports and in `sort`, if it is not the field's name. */
  member?: string
  /** Name for people. */
  words?: string
  /** Heading of the column, if it is not `words`. */
  heading?: string
  /** Whether the device list has a column for the field. The columns have the order of the fields. */
  column?: true
  /** Whether the device list can be sorted by the field. */
  sort?: true
  /** Whether no index provides this order, so that the hub may read all devices of the project for a page. */
  scans?: true
  /** Whether a condition may compare the field. */
  condition?: true
  /** Whether a condition compares the text ignoring case. */
  ignoresCase?: true
}

/**
 * Fields of a device, by their names in conditions and in stored columns. The contract, the hub and the console read them here. The hub
 * has the SQL of each (`features/devices/device-sql.ts`), the console the cell of each column.
 */
export const DEVICE_FIELDS = {
  name: { type: 'text', words: 'Name', column: true, sort: true },
  deviceId: { type: 'text', words: 'Id', column: true, sort: true },
  firstSeen: { type: 'time', words: 'First Seen', column: true, sort: true },
  status: { type: 'text', words: 'Status', column: true, sort: true },
  pendingCertificatesCount: { type: 'count', words: 'Pending Certificates', column: true, sort: true },
  lastSeen: {
    type: 'time',
    member: 'lastSeenAt',
    words: 'Last seen',
    heading: 'Last seen or connected for',
    column: true,
    sort: true,
    scans: true,
    condition: true,
  },
  version: { type: 'text', member: 'currentVersion', words: 'Version', column: true, condition: true },
  update: {
    type: 'text',
    member: 'updateState',
    words: 'Update',
    column: true,
    condition: true,
    ignoresCase: true,
  },
  hostname: { type: 'text' },
  connected: { type: 'boolean', member: 'isConnected' },
  sharedIdentity: { type: 'boolean', member: 'hasSharedIdentity' },
  lastConnectedAt: { type: 'time' },
  targetVersion: { type: 'text', member: 'updateTargetVersion' },
  updateFailureCount: { type: 'count' },
  updateError: { type: 'text' },
} as const satisfies Record<string, DeviceField>

type Fields = typeof DEVICE_FIELDS

/** Name of a field of a device. */
export type DeviceFieldName = keyof Fields

type MemberOf<Name> = Name extends DeviceFieldName
  ? Fields[Name] extends { member: infer Member }
    ? Member
    : Name
  : never

/** Name of a field in the answer of the device list and in exports. */
export type DeviceMember = MemberOf<DeviceFieldName>

type NamesWith<Properties> = {
  [Name in DeviceFieldName]: Fields[Name] extends Properties ? Name : never
}[DeviceFieldName]

/** Names of the fields that have these properties. */
export function fieldsWith<const Properties extends Partial<DeviceField>>(
  properties: Properties,
): NamesWith<Properties>[] {
  const isWanted = (field: DeviceField) =>
    Object.entries(properties).every(([key, value]) => field[key as keyof DeviceField] === value)
  return (Object.keys(DEVICE_FIELDS) as NamesWith<Properties>[]).filter(name => isWanted(DEVICE_FIELDS[name]))
}

/** A sort order of the device list by a field, ascending. */
export type DeviceSortName = MemberOf<NamesWith<{ sort: true }>>

/** Name of a field in the answer of the device list, in exports and in `sort`. */
export function memberOf<Name extends DeviceFieldName>(name: Name): MemberOf<Name> {
  const { member = name }: DeviceField = DEVICE_FIELDS[name]
  return member as MemberOf<Name>
}

/** Fields that a condition may compare. */
export const CONDITION_FIELDS = [
  ...fieldsWith({ type: 'text', condition: true }),
  ...fieldsWith({ type: 'time', condition: true }),
]
