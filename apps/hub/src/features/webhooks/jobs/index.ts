// Written by `npm run gen` from the files of this folder.
export { webhooks_MaintainOutbox } from './MaintainOutbox.ts'
export { webhooks_SendOffEmail } from './SendOffEmail.ts'
