export {
  CONDITION_FIELDS,
  DEVICE_FIELDS,
  type DeviceFieldName,
  type DeviceMember,
  type DeviceSortName,
  fieldsWith,
  memberOf,
} from './device-fields.ts'
