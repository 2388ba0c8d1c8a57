import type { DeviceMember } from '@muster/predicates'
import { handler } from '../../../platform/pipeline/handler.ts'
import { secsBetween, wireTimeOf } from '../../../platform/runtime/times.ts'
import { type DeviceRow, readDevicePage, updateText } from '../device-pages.ts'

/** Lists the devices of a project that match a filter, with chosen properties as columns. */
export const projects_QueryDevices = handler(
  'projects_QueryDevices',
  async ({ db, inPortions, signal }, input) => {
    const { columns = [] } = input
    const { rows, ...rest } = await readDevicePage(db, signal, input)
    const now = new Date()
    return {
      devices: await inPortions(rows, portion => portion.map(row => deviceOf(row, columns, now))),
      ...rest,
      ...(columns.length > 0 && { memberColumns: memberColumns(columns, rows) }),
    }
  },
)

function deviceOf(row: DeviceRow, columns: readonly string[], now: Date) {
  const lastConnectedAt = row.lastConnectedAt === null ? undefined : wireTimeOf(row.lastConnectedAt)
  const failures = updateText(row, 'updateFailureCount')
  return {
    deviceId: row.deviceId,
    name: row.name ?? undefined,
    hostname: row.hostname || undefined,
    firstSeen: wireTimeOf(row.firstSeen),
    status: row.status,
    isConnected: row.connected,
    pendingCertificatesCount: row.pendingCertificatesCount,
    hasSharedIdentity: row.sharedIdentity || undefined,
    certificateEndsAt: row.certificateEnds === null ? undefined : wireTimeOf(row.certificateEnds),
    lastConnectedAt,
    lastSeenAt: row.lastSeen === null ? undefined : wireTimeOf(row.lastSeen),
    currentConnectionDurationSecs:
      row.connected && lastConnectedAt ? secsBetween(new Date(lastConnectedAt), now) : undefined,
    currentVersion: updateText(row, 'version'),
    updateTargetVersion: updateText(row, 'targetVersion'),
    updateState: updateText(row, 'update'),
    updateFailureCount: failures === undefined ? undefined : Number(failures),
    updateError: updateText(row, 'updateError'),
    labels: row.labels ?? undefined,
    match: row.match,
    properties: columns.length > 0 ? propertiesOf(columns, row.texts ?? []) : undefined,
  } satisfies Record<DeviceMember, unknown> & Record<string, unknown>
}

function propertiesOf(columns: readonly string[], texts: readonly (string | null)[]): Record<string, string> {
  return Object.fromEntries(
    columns.flatMap((path, index) => {
      const text = texts[index]
      return text == null ? [] : [[path, text.slice(1)]]
    }),
  )
}

/**
 * Paths among `columns` that mean a member of a JSON property, as `a.b` means the member `b` of `a`. A property may itself have the name
 * `a.b`, so the cells decide: their text begins with `.` for a member and with `=` for a property.
 */
function memberColumns(
  columns: readonly string[],
  rows: readonly { texts: (string | null)[] | null }[],
): string[] {
  return columns.filter((_, index) => {
    const kinds = new Set(rows.flatMap(({ texts }) => texts?.[index]?.[0] ?? []))
    return kinds.has('.') && !kinds.has('=')
  })
}
