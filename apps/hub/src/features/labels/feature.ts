import { event } from '../../platform/audit/events.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import * as jobs from './jobs/index.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `devices_SetLabels`, for each label that it sets, and for each that the token of a new device gives it. */
  devices_LabelSet: event<{ projectId: string; deviceId: string; key: string; value: string }>({
    ids: ['projectId', 'deviceId'],
  }),
  /** Written by `devices_SetLabels`, for each label that it removes. */
  devices_LabelRemoved: event<{ projectId: string; deviceId: string; key: string }>({
    ids: ['projectId', 'deviceId'],
  }),
  /** Written by the hub for a device whose property `dev.muster.labels`, which it had written itself, was moved to `dev.muster.labels.before`. */
  devices_ReportedLabelsMoved: event<{ projectId: string; deviceId: string }>({
    ids: ['projectId', 'deviceId'],
  }),
}

/** Labels that people give to devices. */
export const labels = defineFeature({ actions, events, jobs })
