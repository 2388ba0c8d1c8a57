// Written by `npm run gen` from the files of this folder.
export { devices_CancelBulkAction } from './CancelBulkAction.ts'
export { devices_CreateBulkDecision } from './CreateBulkDecision.ts'
export { devices_CreateBulkDeletion } from './CreateBulkDeletion.ts'
export { devices_GetBulkAction } from './GetBulkAction.ts'
export { devices_GetBulkCounts } from './GetBulkCounts.ts'
export { devices_QueryBulkActionItems } from './QueryBulkActionItems.ts'
export { devices_StartBulkDecision } from './StartBulkDecision.ts'
export { devices_StartBulkDeletion } from './StartBulkDeletion.ts'
