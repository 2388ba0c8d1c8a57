export {
  ConnectionRefused,
  connectDevice,
  type DeviceIdentity,
  deviceIdentity,
  type FakeDevice,
  type FakeDeviceOptions,
} from './fake-device.ts'
export { type TestHub, type TestUser, testHub } from './test-hub.ts'
export { until } from './until.ts'
