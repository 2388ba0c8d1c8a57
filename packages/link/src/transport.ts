/** What carries one link: an ordered stream of byte messages, for instance a WebSocket. */
export interface Transport {
  /**
   * Sends one binary message. Never throws, never calls back into the link; after the end it is a no-op. The
   * message must not be changed: some are shared between links.
   */
  send(message: Uint8Array): void
  /** Bytes accepted by send() and not yet taken by the operating system. */
  readonly bufferedBytes: number
  /**
   * Ends the transport; `abort` = at once without delivering what is buffered. The code is one of WebSocket's: 1000 unless given,
   * 1013 for a peer that was too slow and may try again.
   */
  close(abort?: boolean, code?: 1000 | 1013): void
}
