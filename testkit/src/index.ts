export type { FirstPing } from '@muster/link/testing'
export { digestOf, putBytes } from './blob-upload.ts'
export { type CapturedLog, capturedLog, type LogLine } from './captured-log.ts'
export { type Muster, muster, type Ran } from './command-line.ts'
export { type CuttingProxy, cuttingProxy } from './cutting-proxy.ts'
export { type DatabaseSession, databaseSession } from './database-session.ts'
export { type DatabaseWire, databaseWire } from './database-wire.ts'
export { type DevicePage, devicePage, forwardEnd, forwardLocally } from './device-page.ts'
export { failed } from './failed.ts'
export {
  ConnectionRefused,
  connectDevice,
  connectPerson,
  type DeviceIdentity,
  deviceHeaders,
  deviceIdentity,
  type FakeDevice,
  type FakeDeviceOptions,
  openWebSocket,
  overPipeline,
  renewalInput,
  socketOf,
} from './fake-device.ts'
export { type FakeS3, fakeS3 } from './fake-s3.ts'
export { freePort } from './free-port.ts'
export { type Fuzzed, fuzzHub } from './fuzz.ts'
export { type Answer, type AskOptions, ask } from './http.ts'
export { hashOfStream, largeBody } from './large-body.ts'
export { type LiveStream, liveStream } from './live-stream.ts'
export { mailsIn, type ReceivedMail } from './mail.ts'
export { type DeliveredMail, type MailServer, mailServer } from './mail-server.ts'
export { heldDuring } from './memory.ts'
export { natsServer } from './nats-server.ts'
export { ODD_ANSWERS, oddServer, SHOWN_TEXT } from './odd-answers.ts'
export { type DeviceReplay, deviceReplay, replayDevice } from './peers/device-replay.ts'
export type { Age, PeerEnd } from './peers/peer.ts'
export { MalformedOutput } from './peers/peer-rpc.ts'
export { type PublicAgent, publicAgent } from './peers/public-agent.ts'
export { type PublicCommandLine, publicCommandLine } from './peers/public-command-line.ts'
export { type PublicUpdate, publicUpdate } from './peers/public-update.ts'
export { mailedJwt, signIn } from './people.ts'
export { type RawDevice, rawDevice } from './raw-device.ts'
export {
  type AuditRow,
  assetRow,
  auditEvents,
  auditRows,
  blockRow,
  clearAudit,
  deviceRow,
  type EventRow,
  operationRow,
  randomFingerprint,
  viewRow,
  webhookRow,
} from './rows.ts'
export { hasS3Server, type S3Server, s3Server } from './s3-server.ts'
export { makeDatabase, type ScratchDatabase, scratchDatabase } from './scratch-database.ts'
export { secondNode, type TestNode } from './second-node.ts'
export { type SilentConnections, silentConnections } from './silent-connections.ts'
export { smallDisk } from './small-disk.ts'
export { type TestHub, type TestUser, testHub } from './test-hub.ts'
export { until } from './until.ts'
export { writeUpdate } from './update-writes.ts'
export { askUpgrade, type UpgradeAnswer } from './upgrade.ts'
export { withWrongEnd } from './wrong-secret.ts'
