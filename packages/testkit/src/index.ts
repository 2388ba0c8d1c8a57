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
export { type RawDevice, rawDevice } from './raw-device.ts'
export { type AuditRow, auditEvents, auditRows, deviceRow, type EventRow, randomFingerprint } from './rows.ts'
export { type TestHub, type TestUser, testHub } from './test-hub.ts'
export { until } from './until.ts'
