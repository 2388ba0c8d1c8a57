import type { Channel } from '@muster/link'
import type { ForwardCounts } from '../runtime/measures.ts'

/**
 * Pipes bytes between two channels until both directions have ended; each direction may end first. Reads from a channel only while
 * the other channel has room, so a stalled reader stops the sender and no bytes are buffered here. `counts` counts the bytes in each
 * direction, as seen from the device.
 */
export async function pipeChannels(person: Channel, device: Channel, counts?: ForwardCounts): Promise<void> {
  if (counts) counts.open++
  await Promise.all([
    pipeOneWay(person, device, bytes => {
      if (counts) counts.toDeviceBytes += bytes
    }),
    pipeOneWay(device, person, bytes => {
      if (counts) counts.fromDeviceBytes += bytes
    }),
  ])
  if (counts) counts.open--
}

async function pipeOneWay(from: Channel, to: Channel, count: (bytes: number) => void): Promise<void> {
  try {
    for (let bytes = await from.read(); bytes !== null; bytes = await from.read()) {
      count(bytes.length)
      await writeIfRead(to, bytes)
    }
    to.end()
  } catch {
    // Reached when a channel failed before its regular end.
    from.abort()
    to.abort()
    return
  }
  // When the peer of `from` stops reading, the hub asks the peer of `to` to stop sending. The peer of `to` may treat that request as
  // the end of the whole channel. So the hub waits here until its own end of data, which may be queued behind data, has left on `to`.
  await to.endSent
  from.onPeerStopped = () => to.stopReading()
  if (from.hasPeerStopped) to.stopReading()
}

/** Writes to a channel. Ignores a failure if the peer stopped reading, so that the other direction can still finish. */
async function writeIfRead(to: Channel, bytes: Uint8Array): Promise<void> {
  await to.write(bytes).catch(error => {
    if (!to.hasPeerStopped) throw error
  })
}
