// Exports for other features.
export {
  changedLabels,
  hasLabel,
  LABELS_OF_DEVICE,
  type LabelChange,
  type LabelValues,
  labelOfDevice,
  labelOfPath,
  labelsOfDevice,
  lockLabels,
  writeLabels,
} from './device-labels.ts'
export { emitLabelChanges } from './label-events.ts'
