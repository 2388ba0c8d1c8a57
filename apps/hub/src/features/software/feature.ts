import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import * as jobs from './jobs/index.ts'

/** Software that devices report, and what runs it. */
export const software = defineFeature({ actions, jobs })
