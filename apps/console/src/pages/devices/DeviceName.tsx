import type { DeviceNames } from './device-name.ts'

/** The name of a device, or "unnamed" and its host name. */
export function DeviceName({ name, hostname }: DeviceNames) {
  if (name !== undefined) return name
  return (
    <>
      <span className="un">unnamed</span>
      {hostname !== undefined && <span className="muted host"> {hostname}</span>}
    </>
  )
}
