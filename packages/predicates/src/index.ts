export {
  CONDITION_FIELDS,
  DEVICE_FIELDS,
  type DeviceFieldName,
  type DeviceMember,
  type DeviceSortName,
  fieldsWith,
  LIST_FIELDS,
  type ListField,
  type ListFieldName,
  memberOf,
  SORT_NAMES,
} from './device-fields.ts'
