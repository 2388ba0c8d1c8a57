import { openPort } from '../links/registry.ts'
import type { DeviceChannel } from './device-channel.ts'

/** Endpoint that command-line clients open to reach a TCP port of a device (docs/protocol.md 3.4). */
const ENDPOINT = /^device\/(d_[1-9A-HJ-NP-Za-km-z]{22})\/proxy\/forward\/tcp\/(\d{1,5})$/

/** TCP port of a device, for command-line clients. Each port has one audit event per link, however many connections the link forwards. */
export const forwardedPort: DeviceChannel<{ deviceId: string; port: number }, 'devices_PortForwarded'> = {
  of(endpoint) {
    const [, deviceId, digits] = ENDPOINT.exec(endpoint) ?? []
    if (!deviceId) return 'unknown endpoint'
    const port = Number(digits)
    // The hub never sends an invalid port to a device, because agents released before 2026-03-03 exit when they get one (docs/protocol.md
    //
    if (port < 1 || port > 65_535) return 'invalid TCP forwarding endpoint'
    return { deviceId, port }
  },
  permission: { can: 'manage', on: 'device', id: 'deviceId' },
  open: (session, { port }) => openPort(session, port),
  event: ({ deviceId, port }, projectId) => ({
    key: `${deviceId} ${port}`,
    name: 'devices_PortForwarded',
    data: { projectId, deviceId, port },
  }),
}
