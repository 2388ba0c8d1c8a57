import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import * as jobs from './jobs/index.ts'

/** The audit log: its lists, and its seals. */
export const audit = defineFeature({ actions, jobs })
