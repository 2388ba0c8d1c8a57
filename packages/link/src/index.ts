export { Backoff } from './backoff.ts'
export { ByteBudget, type InputBudget } from './byte-budget.ts'
export { Channel } from './channel.ts'
export { type Clock, systemClock } from './clock.ts'
export {
  errorEnvelope,
  okEnvelope,
  okEnvelopeOfJson,
  parseEnvelope,
  type WireErrorKind,
} from './envelope.ts'
export {
  ChannelClosedError,
  ChannelRejectedError,
  FrameError,
  type LinkEnd,
  LinkEndedError,
  ProtocolError,
  RemoteActionError,
} from './errors.ts'
export { ExecutorClient, type ExecutorClientOptions } from './executor-client.ts'
export { EXECUTOR } from './executor-format.ts'
export {
  type ExecutorAnswer,
  type ExecutorCall,
  type ExecutorHandle,
  type ExecutorOptions,
  type ExecutorRunner,
  type ExecutorService,
  serveExecutor,
} from './executor-server.ts'
export { decodeFrame, encodeFrame, FRAME, type Frame, MAGIC } from './frames.ts'
export { GO_AWAY, isGoAway } from './go-away.ts'
export { DEFAULT_LIMITS, type LinkLimits } from './limits.ts'
export { Link } from './link.ts'
export type { LinkOptions } from './link-options.ts'
export type { OpenOptions } from './opening.ts'
export type { PeerAge } from './peer-age.ts'
export type { ChannelRequest } from './request.ts'
export { pipeSocket } from './socket-pipe.ts'
export type { Transport } from './transport.ts'
export { WebSocketTransport } from './web-socket.ts'
