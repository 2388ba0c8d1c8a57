import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'

/** What happened on a device, from all sources, newest first. */
export const timeline = defineFeature({ actions })
