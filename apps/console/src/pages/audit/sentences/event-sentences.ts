// Written by `npm run gen` from the files log-sentences.ts of the features.
import { accountEvents } from '../../accounts/log-sentences.ts'
import { certificateEvents } from '../../approvals/log-sentences.ts'
import { bulkEvents } from '../../bulk/log-sentences.ts'
import { deviceEvents } from '../../devices/log-sentences.ts'
import { instanceEvents } from '../../instance/log-sentences.ts'
import { labelEvents } from '../../labels/log-sentences.ts'
import { operationEvents } from '../../operations/log-sentences.ts'
import { organizationEvents } from '../../organizations/log-sentences.ts'
import { projectEvents } from '../../projects/log-sentences.ts'
import { repositoryEvents } from '../../repositories/log-sentences.ts'
import { viewEvents } from '../../views/log-sentences.ts'
import { webhookEvents } from '../../webhooks/log-sentences.ts'
import type { LoggedEvents, SentenceRow, WithKnownFields } from '../shared/sentence-row.ts'

const rows = {
  ...accountEvents,
  ...certificateEvents,
  ...bulkEvents,
  ...deviceEvents,
  ...instanceEvents,
  ...labelEvents,
  ...operationEvents,
  ...organizationEvents,
  ...projectEvents,
  ...repositoryEvents,
  ...viewEvents,
  ...webhookEvents,
}

/** Sentences for all audit events, by the name of the event. A missing one does not compile. */
export const EVENT_SENTENCES = rows satisfies WithKnownFields<typeof rows, LoggedEvents> as Record<
  string,
  SentenceRow
>
