/** Name of a device, and the host name from its system info. */
export type DeviceNames = { name?: string | undefined; hostname?: string | undefined }

/** The name of a device as plain text, or "unnamed" and its host name: "unnamed (crane-gw)". */
export function deviceNameText({ name, hostname }: DeviceNames): string {
  if (name !== undefined) return name
  return hostname === undefined ? 'unnamed' : `unnamed (${hostname})`
}
