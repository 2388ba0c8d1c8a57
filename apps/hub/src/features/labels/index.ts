// Exports for other features.
export { hasLabel, LABELS_OF_DEVICE, labelOfDevice, labelOfPath, labelsOfDevice } from './device-labels.ts'
