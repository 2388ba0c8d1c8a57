import type { Socket } from 'node:net'
import type { Channel } from './channel.ts'

/**
 * Pipes bytes both ways between a channel and a local socket. The directions end independently, and back-pressure slows the
 * faster side. A failure of the channel or the socket ends both (docs/protocol.md 3.3). Truncated data from the channel resets the
 * socket, so that the data does not look complete. Resolves when both directions have ended. Never rejects. The socket must
 * have `allowHalfOpen`.
 */
export async function pipeSocket(channel: Channel, socket: Socket): Promise<void> {
  const { promise: socketClosed, resolve } = Promise.withResolvers<void>()
  // Every 'error' is followed by 'close', which is handled below.
  socket.on('error', () => {})
  socket.once('close', () => {
    // If the local service ended its data regularly, queued data must be sent before ChannelClose: the hub treats ChannelClose
    // as the end of the whole channel (docs/protocol.md R-13).
    if (socket.readableEnded) void channel.endSent.then(() => channel.stopReading())
    else channel.close()
    resolve()
  })
  pipeToChannel(socket, channel)
  pipeToSocket(channel, socket)
  if (socket.destroyed) resolve()
  await socketClosed
  await channel.closed
}

function pipeToChannel(socket: Socket, channel: Channel): void {
  socket.on('data', (bytes: Buffer) => {
    // If the hub has stopped reading but is still sending, the service's data is dropped.
    if (channel.canWrite && !channel.tryWrite(bytes)) socket.pause()
  })
  socket.once('end', () => channel.end())
  channel.onWritable = () => {
    if (channel.canWrite || channel.hasPeerStopped) socket.resume()
    // After the local service ended its data, `canWrite` is false as well, but the socket must not be reset.
    else if (!socket.readableEnded) socket.resetAndDestroy()
  }
}

function pipeToSocket(channel: Channel, socket: Socket): void {
  let isOver = false
  const finish = () => {
    isOver = true
    // A hub that has ended its data and stopped reading has dropped the channel. So the connection to the service is closed
    // (docs/protocol.md R-13).
    if (channel.hasPeerStopped) socket.end(() => socket.destroy())
    else socket.end()
  }
  const abort = () => {
    isOver = true
    socket.write('', () => socket.resetAndDestroy())
  }
  const pump = () => {
    while (!isOver && !socket.destroyed && !socket.writableNeedDrain) {
      const bytes = channel.tryRead()
      if (bytes === undefined && !channel.hasPeerStopped) return
      if (bytes) socket.write(bytes)
      else if (bytes === null && !channel.isTruncated) finish()
      else abort()
    }
  }
  channel.onReadable = pump
  channel.onPeerStopped = () => {
    if (!isOver) pump()
    else if (socket.writableFinished) socket.destroy()
    else socket.once('finish', () => socket.destroy())
  }
  socket.on('drain', pump)
  pump()
}
