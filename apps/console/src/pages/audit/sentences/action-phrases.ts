// Written by `npm run gen` from the files log-sentences.ts of the features.
import { accountActions } from '../../accounts/log-sentences.ts'
import { certificateActions } from '../../approvals/log-sentences.ts'
import { bulkActions } from '../../bulk/log-sentences.ts'
import { deviceActions } from '../../devices/log-sentences.ts'
import { instanceActions } from '../../instance/log-sentences.ts'
import { labelActions } from '../../labels/log-sentences.ts'
import { operationActions } from '../../operations/log-sentences.ts'
import { organizationActions } from '../../organizations/log-sentences.ts'
import { projectActions } from '../../projects/log-sentences.ts'
import { repositoryActions } from '../../repositories/log-sentences.ts'
import { viewActions } from '../../views/log-sentences.ts'
import { webhookActions } from '../../webhooks/log-sentences.ts'
import type { LoggedInputs, SentenceRow, WithKnownFields } from '../shared/sentence-row.ts'

const rows = {
  ...accountActions,
  ...certificateActions,
  ...bulkActions,
  ...deviceActions,
  ...instanceActions,
  ...labelActions,
  ...operationActions,
  ...organizationActions,
  ...projectActions,
  ...repositoryActions,
  ...viewActions,
  ...webhookActions,
}

/** Phrases for all actions that leave an entry in a log when they fail, by the name of the action. A missing one does not compile. */
export const ACTION_PHRASES = rows satisfies WithKnownFields<typeof rows, LoggedInputs> as Record<
  string,
  SentenceRow
>
