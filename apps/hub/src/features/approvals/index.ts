// What other features may use.
export { changeCertificateStatus } from './certificate-status.ts'
