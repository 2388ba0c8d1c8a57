import { event } from '../../platform/audit/events.ts'
import type { Limit } from '../../platform/limits/limits.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import { removeOldViews } from './upkeep.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `views_Create`, for a view that everyone in the project sees. */
  views_Created: event<{ projectId: string; viewId: string; name: string }>({ ids: ['projectId', 'viewId'] }),
  /** Written by `views_Set`, for a view that everyone in the project sees, or saw before. */
  views_Changed: event<{ projectId: string; viewId: string; name: string; isShared: boolean }>({
    ids: ['projectId', 'viewId'],
  }),
  /** Written by `views_Delete`, for a view that everyone in the project saw. */
  views_Deleted: event<{ projectId: string; viewId: string }>({ ids: ['projectId', 'viewId'] }),
}

/** Limits of this feature. `npm run gen` writes them into docs/operating.md. */
const limits = {
  'project-shared-views': {
    scope: 'project',
    unit: 'views',
    default: 200,
    max: 10_000,
    meaning: 'Saved views of the devices of a project that everyone sees.',
  },
  'person-project-views': {
    scope: 'person',
    unit: 'views',
    default: 100,
    max: 10_000,
    meaning: 'Saved views of the devices of a project that one person alone sees.',
  },
} satisfies Record<string, Limit>

declare module '../../platform/limits/limits.ts' {
  interface FeatureLimits extends Record<keyof typeof limits, Limit> {}
}

/** Saved views of device lists. */
export const views = defineFeature({ actions, events, limits, retention: [removeOldViews] })
