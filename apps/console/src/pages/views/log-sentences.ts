import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of saved views. */
export const viewEvents = {
  views_Created: { kind: 'project', say: 'saved the view [name] of the devices of {projectId} for everyone' },
  views_Changed: {
    kind: 'project',
    say: ({ data }) =>
      data.isShared
        ? 'changed the view [name] of the devices of {projectId}'
        : 'keeps the view [name] of the devices of {projectId} private',
  },
  views_Deleted: {
    kind: 'project',
    say: ({ old }) =>
      old?.name === undefined
        ? 'deleted a view of the devices of {projectId}'
        : 'deleted the view [old.name] of the devices of {projectId}',
  },
} as const satisfies EventSentences<'views'>

/** Phrases for the logged actions on saved views. */
export const viewActions = {
  views_Create: { kind: 'project', say: 'save a view of the devices of {projectId}' },
  views_Set: { kind: 'project', say: 'change a view of the devices of {projectId}' },
  views_Delete: { kind: 'project', say: 'delete a view of the devices of {projectId}' },
} as const satisfies ActionPhrases<'views'>
