import type { Channel } from '@muster/link'

/**
 * Pipes bytes between two channels until both directions have ended; each direction ends by itself. Reads only while the other
 * channel has room, so a stalled reader stops the writer at the far end and no bytes pile up here.
 */
export async function splice(one: Channel, other: Channel): Promise<void> {
  await Promise.all([carry(one, other), carry(other, one)])
}

async function carry(from: Channel, to: Channel): Promise<void> {
  try {
    for (let bytes = await from.read(); bytes !== null; bytes = await from.read())
      await writeIfRead(to, bytes)
    to.end()
  } catch {
    // One of the two channels failed before its end.
    breakOff(from)
    breakOff(to)
    return
  }
  // When the receiving peer stops reading, the sending peer is told to stop. Peers may take that for the end of the whole
  // connection, so it waits until our own end was sent, which may be delayed behind the data.
  await to.endSent
  from.onPeerStopped = () => to.stopReading()
  if (from.hasPeerStopped) to.stopReading()
}

/** Ends a channel after a failure: stops reading first, so that the peer does not see a regular end of data. */
export function breakOff(channel: Channel): void {
  channel.stopReading()
  channel.close()
}

/** Writes, and ignores failures once the peer stopped reading. Data that the peer sent before are still passed on. */
async function writeIfRead(to: Channel, bytes: Uint8Array): Promise<void> {
  await to.write(bytes).catch(error => {
    if (!to.hasPeerStopped) throw error
  })
}
