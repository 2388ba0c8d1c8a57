import { Unnamed } from '../../../ui/app/Unnamed.tsx'
import type { DeviceNames } from './device-name.ts'

/** The name of a device, or "unnamed" and its host name. */
export function DeviceName({ name, hostname }: DeviceNames) {
  if (name !== undefined) return <bdi>{name}</bdi>
  return (
    <>
      <Unnamed />
      {hostname !== undefined && <span className="muted"> {hostname}</span>}
    </>
  )
}
