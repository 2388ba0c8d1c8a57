import { isPort } from '../links/registry.ts'
import { CONNECT } from './device-channel.ts'
import type { LinkChannel } from './link-channel.ts'

/** Endpoint that command-line clients open to reach a TCP port of a device (docs/protocol.md 3.4). */
const ENDPOINT = /^device\/(d_[1-9A-HJ-NP-Za-km-z]{22})\/proxy\/forward\/tcp\/(\d{1,5})$/

/** TCP port of a device, for command-line clients. Each port has one audit event per link, however many connections the link forwards. */
export const forwardedPort: LinkChannel<{ deviceId: string; port: number }, 'devices_PortForwarded'> = {
  of(endpoint) {
    const [, deviceId, digits] = ENDPOINT.exec(endpoint) ?? []
    if (!deviceId) return 'unknown endpoint'
    const port = Number(digits)
    return isPort(port) ? { deviceId, port } : 'invalid TCP forwarding endpoint'
  },
  endpoint: ({ port }) => `forward/tcp/${port}`,
  right: CONNECT,
  event: ({ deviceId, port }, projectId) => ({
    key: `${deviceId} ${port}`,
    name: 'devices_PortForwarded',
    data: { projectId, deviceId, port },
  }),
}
