// Written by `npm run gen` from the files of this folder.
export { audit_RemoveSealed } from './RemoveSealed.ts'
export { audit_SealRows } from './SealRows.ts'
export { audit_VerifySeals } from './VerifySeals.ts'
