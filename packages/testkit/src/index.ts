export { type CapturedLog, capturedLog, type LogLine } from './captured-log.ts'
export { type DatabaseSession, databaseSession } from './database-session.ts'
export {
  ConnectionRefused,
  connectDevice,
  type DeviceIdentity,
  deviceHeaders,
  deviceIdentity,
  type FakeDevice,
  type FakeDeviceOptions,
  openWebSocket,
} from './fake-device.ts'
export { type Answer, type AskOptions, ask } from './http.ts'
export { type LiveStream, liveStream } from './live-stream.ts'
export { mailsIn, type ReceivedMail } from './mail.ts'
export { type DeliveredMail, type MailServer, mailServer } from './mail-server.ts'
export { mailedJwt, signIn } from './people.ts'
export { type RawDevice, rawDevice } from './raw-device.ts'
export { type AuditRow, auditEvents, auditRows, deviceRow, type EventRow, randomFingerprint } from './rows.ts'
export { type ScratchDatabase, scratchDatabase } from './scratch-database.ts'
export { type TestHub, type TestUser, testHub } from './test-hub.ts'
export { until } from './until.ts'
