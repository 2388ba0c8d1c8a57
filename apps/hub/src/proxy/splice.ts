import type { Channel } from '@muster/link'

/**
 * Passes bytes between two channels until both directions are over, each end on its own. One reads only while the other has room,
 * so that a reader that stalls stops the writer at the far end and nothing gathers here.
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
    // One of the two broke in the middle.
    breakOff(from)
    breakOff(to)
    return
  }
  // Who reads no more makes the writing of the other side pointless; not sooner, since peers take it for the end of everything.
  from.onPeerStopped = () => to.stopReading()
  if (from.hasPeerStopped) to.stopReading()
}

/** Ends a channel so that it does not look as if it had come to its end: that is told last. */
export function breakOff(channel: Channel): void {
  channel.stopReading()
  channel.close()
}

/** What is written to a peer that reads no more goes nowhere: it may have said something before that, which is still to be heard. */
async function writeIfRead(to: Channel, bytes: Uint8Array): Promise<void> {
  await to.write(bytes).catch(error => {
    if (!to.hasPeerStopped) throw error
  })
}
