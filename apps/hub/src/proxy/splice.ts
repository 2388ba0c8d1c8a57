import type { Channel } from '@muster/link'

/**
 * Passes bytes between two channels until both directions are over, each end on its own. One reads only while the other has room,
 * so that a reader that stalls stops the writer at the far end and nothing gathers here.
 */
export async function splice(one: Channel, other: Channel): Promise<void> {
  await Promise.all([pump(one, other), pump(other, one)])
}

async function pump(from: Channel, to: Channel): Promise<void> {
  // Who reads no more makes the writing of the other side pointless.
  to.onPeerStopped = () => from.stopReading()
  if (to.hasPeerStopped) from.stopReading()
  try {
    for (let bytes = await from.read(); bytes !== null; bytes = await from.read()) await to.write(bytes)
    to.end()
  } catch {
    // One of the two broke in the middle: the other must not look as if it had come to its end.
    from.close()
    to.close()
  }
}
