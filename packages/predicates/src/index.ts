export { problemsOf } from './check.ts'
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
  PROBLEMS_FIRST,
  SCANNING_SORT_NAMES,
  SORT_NAMES,
  TEXT_CONDITION_FIELDS,
  TIME_CONDITION_FIELDS,
} from './device-fields.ts'
export { evaluate, evaluateValue, type Outcome } from './evaluate.ts'
export {
  COMPARISONS,
  FIELD_PREFIX,
  fieldOf,
  type Json,
  type JsonExpr,
  type JsonMutation,
  type JsonPath,
  LABELS,
  MAX_AGO_SECS,
  MAX_EXPRS,
  MAX_PATH,
  MAX_PREDICATE_LENGTH,
  partsOf,
} from './expr.ts'
export { isLabelKey, LABEL_KEY_TEXT, MAX_LABEL_LENGTH, MAX_LABELS } from './labels.ts'
export { changedAt } from './mutate.ts'
export {
  MAX_NAME_PATTERN_LENGTH,
  type NamedDevice,
  NamePatternError,
  type NamePatternPart,
  nameByPattern,
  readNamePattern,
} from './name-pattern.ts'
export { KEYWORDS, printPredicate } from './print-text.ts'
export { nearest, PredicateTextError, readPlaced, readPredicate } from './read-text.ts'
export { MAX_REQUIREMENT_LENGTH, readRequirement } from './version-requirement.ts'
