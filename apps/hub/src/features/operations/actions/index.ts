// Written by `npm run gen` from the files of this folder.
export { devices_CancelOperation } from './CancelOperation.ts'
export { devices_ClaimOperationWork } from './ClaimOperationWork.ts'
export { devices_CreateOperation } from './CreateOperation.ts'
export { devices_GetOperation } from './GetOperation.ts'
export { devices_QueryOperations } from './QueryOperations.ts'
export { devices_ReportOperationStep } from './ReportOperationStep.ts'
export { devices_StartOperation } from './StartOperation.ts'
