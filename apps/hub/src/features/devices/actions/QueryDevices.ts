import { handler } from '../../../platform/pipeline/handler.ts'
import { mapInPortions } from '../../../platform/runtime/portions.ts'
import { secsBetween, wireTimeOf } from '../../../platform/runtime/times.ts'
import { type DeviceRow, readDevicePage } from '../device-pages.ts'
import { statusOf } from '../device-status.ts'

/** Lists the devices of a project that match a filter, with chosen properties as columns. */
export const projects_QueryDevices = handler('projects_QueryDevices', async ({ db, signal }, input) => {
  const { columns = [] } = input
  const { rows, ...rest } = await readDevicePage(db, signal, input)
  const now = new Date()
  return {
    devices: await mapInPortions(rows, portion => portion.map(row => deviceOf(row, columns, now))),
    ...rest,
    ...(columns.length > 0 && { memberColumns: memberColumns(columns, rows) }),
  }
})

function deviceOf(row: DeviceRow, columns: readonly string[], now: Date) {
  const [currentVersion, updateTargetVersion, updateState, failures, updateError] = row.update ?? []
  const lastConnectedAt = row.last_connected_at === null ? undefined : wireTimeOf(row.last_connected_at)
  return {
    deviceId: row.device_id,
    name: row.name ?? undefined,
    hostname: row.hostname || undefined,
    firstSeen: wireTimeOf(row.first_seen),
    status: statusOf(row.is_connected, row.health),
    isConnected: row.is_connected,
    pendingCertificatesCount: row.pending_certificates,
    hasSharedIdentity: row.has_shared_identity || undefined,
    lastConnectedAt,
    lastSeenAt: row.last_seen_at === null ? undefined : wireTimeOf(row.last_seen_at),
    currentConnectionDurationSecs:
      row.is_connected && lastConnectedAt ? secsBetween(new Date(lastConnectedAt), now) : undefined,
    currentVersion: currentVersion ?? undefined,
    updateTargetVersion: updateTargetVersion ?? undefined,
    updateState: updateState ?? undefined,
    updateFailureCount: failures == null ? undefined : Number(failures),
    updateError: updateError ?? undefined,
    properties: columns.length > 0 ? propertiesOf(columns, row.texts ?? []) : undefined,
  }
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
