export { type CapturedLog, capturedLog, type LogLine } from './captured-log.ts'
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
export { type RawDevice, rawDevice } from './raw-device.ts'
export { type TestHub, type TestUser, testHub } from './test-hub.ts'
export { until } from './until.ts'
