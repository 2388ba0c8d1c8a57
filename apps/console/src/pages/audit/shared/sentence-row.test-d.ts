// This file is only compiled. The line below each `ts-expect-error` comment must fail to compile; all other lines must compile.
import type { AuditEvents } from '@muster/actions/client'
import { certificateActions, certificateEvents } from '../../approvals/log-sentences.ts'
import type { ActionPhrases, EventSentences, SentenceRow, WithKnownFields } from './sentence-row.ts'

type Deletion = AuditEvents['devices_CertificateDeleted']
type OfDeletion = Pick<AuditEvents, 'devices_CertificateDeleted'>

// Every event and every logged action of a feature has a row.
const { devices_CertificateDeleted: row, ...otherEvents } = certificateEvents
const { devices_DeleteCertificate: _, ...otherActions } = certificateActions
// @ts-expect-error `devices_CertificateDeleted` has no sentence
const events: EventSentences<'approvals'> = otherEvents
// @ts-expect-error `devices_DeleteCertificate` has no phrase
const actions: ActionPhrases<'approvals'> = otherActions
// @ts-expect-error there is no such event
const more: EventSentences<'approvals'> = { ...certificateEvents, devices_CertificateLost: row }
// @ts-expect-error there is no such feature
type Unknown = EventSentences<'gadgets'>

// A sentence reads only what the data of its event has.
const known: SentenceRow<Deletion> = { kind: 'certificate', say: ({ data }) => `${data.deviceId}` }
// @ts-expect-error the data has no such field
const unknown: SentenceRow<Deletion> = { kind: 'certificate', say: ({ data }) => `${data.device}` }

const places = {
  devices_CertificateDeleted: { say: 'deleted {certificateId} of {deviceId:old.name}' },
} as const
const wrong = { devices_CertificateDeleted: { say: 'deleted {certificateId} of [device]' } } as const
const wrongIn = {
  devices_CertificateDeleted: { say: (isIt: boolean) => (isIt ? 'did <it>' : 'did') },
} as const
const knownPlaces: WithKnownFields<typeof places, OfDeletion> = places
// @ts-expect-error the data has no field `device`
const unknownPlace: WithKnownFields<typeof wrong, OfDeletion> = wrong
// @ts-expect-error the data has no field `it`
const unknownPlaceIn: WithKnownFields<typeof wrongIn, OfDeletion> = wrongIn

export type { actions, events, known, knownPlaces, more, Unknown, unknown, unknownPlace, unknownPlaceIn }
