import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of certificates. */
export const certificateEvents = {
  devices_CertificateAdded: {
    kind: 'certificate',
    say: ({ actor, data }) => {
      if (actor.actor !== 'Device') return 'added a certificate to {deviceId}'
      if (data.predecessorId !== undefined) return 'announced its next certificate'
      return data.status === 'Pending'
        ? 'connected with a new certificate, which waits for approval'
        : 'connected with its first certificate'
    },
  },
  devices_CertificateDeleted: { kind: 'certificate', say: 'deleted a certificate of {deviceId}' },
  devices_CertificateStatusChanged: {
    kind: 'certificate',
    say: ({ data }) =>
      `${CERTIFICATE_VERBS.get(data.status) ?? 'set the status [status] for'} the certificate of {deviceId}`,
  },
} as const satisfies EventSentences<'approvals'>

/** Phrases for the logged actions on certificates. */
export const certificateActions = {
  devices_AddCertificate: { kind: 'certificate', say: 'add a certificate to {deviceId}' },
  devices_SetCertificateStatus: {
    kind: 'certificate',
    say: ({ data }) => `${VERBS.get(data.status) ?? 'change'} the certificate of {deviceId}`,
  },
  devices_DeleteCertificate: { kind: 'certificate', say: 'delete the certificate of {deviceId}' },
} as const satisfies ActionPhrases<'approvals'>

const CERTIFICATE_VERBS = new Map<unknown, string>([
  ['Active', 'accepted'],
  ['Rejected', 'rejected'],
  ['Revoked', 'revoked'],
])

const VERBS = new Map<unknown, string>([
  ['Active', 'accept'],
  ['Rejected', 'reject'],
  ['Revoked', 'revoke'],
])
