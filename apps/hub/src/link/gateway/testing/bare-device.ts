import type { Socket } from 'node:net'
import { randomBase58 } from '@muster/actions'
import { askUpgrade, deviceHeaders, deviceIdentity, type TestHub, type UpgradeAnswer } from '@muster/testkit'

/**
 * Certificate of all bare devices. The devices differ only in their device fingerprints, because generating a key for each
 * device would take long.
 */
const certificate = await deviceIdentity()

/** Creates a device with a fingerprint of its own. The device opens links and sends no frames on them. */
export function bareDevice(hub: TestHub, token: string) {
  const identity = { ...certificate, fingerprint: `d_sk_${randomBase58(44)}` }
  const sockets: Socket[] = []
  const open = async (register = false): Promise<UpgradeAnswer> => {
    const answer = await askUpgrade(hub.url, deviceHeaders({ url: hub.url, token, register }, identity))
    if (answer.socket) sockets.push(answer.socket)
    return answer
  }
  return {
    identity,
    open,
    openMany: (count: number) => Promise.all(Array.from({ length: count }, () => open())),
    end: () => {
      for (const socket of sockets.splice(0)) socket.destroy()
    },
  }
}

/** Opens links one after the other and closes each link before it opens the next, as a script of one-shot commands does. */
export async function openInRow(device: ReturnType<typeof bareDevice>, count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let link = 0; link < count; link++) {
    statuses.push((await device.open()).status)
    device.end()
  }
  return statuses
}

/** Number of answers with a given status. */
export const countOf = (answers: UpgradeAnswer[], status: number) =>
  answers.filter(answer => answer.status === status).length
