import type { Socket } from 'node:net'
import type { Channel } from './channel.ts'

const FLUSH_POLL_MS = 100

/**
 * Carries bytes both ways between a channel and a local socket until both directions ended, each on its own; the slower side holds up
 * the faster one. Whatever breaks on one side ends the other (protocol 3.3), and what breaks off in the middle resets the socket, so
 * that it does not look whole. Resolves when both are over, never rejects. The socket allows half-open ends.
 */
export async function spliceSocket(channel: Channel, socket: Socket): Promise<void> {
  const { promise: socketClosed, resolve } = Promise.withResolvers<void>()
  // What an error means is told by the 'close' that follows it.
  socket.on('error', () => {})
  socket.once('close', () => {
    if (socket.readableEnded) stopReadingOnceFlushed(channel)
    else channel.close()
    resolve()
  })
  carryToChannel(socket, channel)
  carryToSocket(channel, socket)
  if (socket.destroyed) resolve()
  await socketClosed
  await channel.closed
}

function carryToChannel(socket: Socket, channel: Channel): void {
  socket.on('data', (bytes: Buffer) => {
    // The hub that reads no more may still be sending: what the service says then goes nowhere.
    if (channel.canWrite && !channel.tryWrite(bytes)) socket.pause()
  })
  socket.once('end', () => channel.end())
  channel.onWritable = () => {
    if (channel.canWrite || channel.hasPeerStopped) socket.resume()
    // After the service's own end there is no room needed: a pause does not keep that end from being told.
    else if (!socket.readableEnded) socket.resetAndDestroy()
  }
}

function carryToSocket(channel: Channel, socket: Socket): void {
  let isOver = false
  const finish = () => {
    isOver = true
    // A hub that also stopped reading is gone: the service must not go on talking to nobody.
    if (channel.hasPeerStopped) socket.end(() => socket.destroy())
    else socket.end()
  }
  const breakOff = () => {
    isOver = true
    socket.write('', () => socket.resetAndDestroy())
  }
  const carry = () => {
    while (!isOver && !socket.destroyed && !socket.writableNeedDrain) {
      const bytes = channel.tryRead()
      if (bytes === undefined && !channel.hasPeerStopped) return
      if (bytes) socket.write(bytes)
      else if (bytes === null && !channel.isTruncated) finish()
      else breakOff()
    }
  }
  channel.onReadable = carry
  channel.onPeerStopped = () => {
    if (!isOver) carry()
    else if (socket.writableFinished) socket.destroy()
    else socket.once('finish', () => socket.destroy())
  }
  socket.on('drain', carry)
  carry()
}

/**
 * The service ended its data and then broke off: the hub is still to get what waits for credit, and takes our "read no more" as the
 * end of everything. Nothing is left to do after an orderly end.
 */
function stopReadingOnceFlushed(channel: Channel): void {
  if (channel.queuedBytes === 0) {
    channel.stopReading()
    return
  }
  const poll = setInterval(() => {
    if (channel.queuedBytes > 0 && !channel.hasPeerStopped) return
    clearInterval(poll)
    channel.stopReading()
  }, FLUSH_POLL_MS)
}
