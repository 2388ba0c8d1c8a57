// Written by `npm run gen` from the files of this folder.
export { devices_AddCertificate } from './AddCertificate.ts'
export { devices_DeleteCertificate } from './DeleteCertificate.ts'
export { projects_QueryPendingCertificates } from './QueryPendingCertificates.ts'
export { devices_SetCertificateStatus } from './SetCertificateStatus.ts'
