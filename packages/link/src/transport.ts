/** Connection below one link: an ordered stream of byte messages, for example a WebSocket. */
export interface Transport {
  /**
   * Sends one binary message. Never throws, never calls back into the link, and does nothing after the transport has
   * ended. The message must not be changed, because some messages are shared between links.
   */
  send(message: Uint8Array): void
  /** Number of bytes accepted by send() and not yet taken by the operating system. */
  readonly bufferedBytes: number
  /**
   * Asks the peer's end of the transport for an answer that follows all messages sent before, such as a ping of a WebSocket. The owner calls
   * `Link.probed` at the answer. A transport without such a message omits this method.
   */
  probe?(): void
  /**
   * Closes the transport. With `abort` it closes immediately, without delivering buffered data. The code is a WebSocket close code:
   * 1000 by default, 1013 (try again later) for a peer that was too slow.
   */
  close(abort?: boolean, code?: 1000 | 1013): void
}
