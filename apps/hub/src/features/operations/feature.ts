import { event } from '../../platform/audit/events.ts'
import type { Limit } from '../../platform/limits/limits.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import * as jobs from './jobs/index.ts'
import { Operations } from './operations.ts'
import { owners } from './owners.ts'
import { holdAfterRestore, removeOldOperations } from './upkeep.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `devices_CreateOperation`. */
  devices_OperationCreated: event<{
    projectId: string
    deviceId: string
    deviceOperationId: string
    name: string
    stepCount: number
  }>({ ids: ['projectId', 'deviceId', 'deviceOperationId'] }),
  /** Written by `devices_StartOperation`, also when it lets an operation go on that a restore had held. */
  devices_OperationStarted: event<{
    projectId: string
    deviceId: string
    deviceOperationId: string
    name: string
  }>({ ids: ['projectId', 'deviceId', 'deviceOperationId'] }),
  /** Written by `devices_CancelOperation`. */
  devices_OperationCancelled: event<{
    projectId: string
    deviceId: string
    deviceOperationId: string
    name: string
  }>({ ids: ['projectId', 'deviceId', 'deviceOperationId'] }),
  /** Written by the hub when all steps are done, or when a step has failed or timed out. */
  devices_OperationEnded: event<{
    projectId: string
    deviceId: string
    deviceOperationId: string
    name: string
    status: string
    error?: string
  }>({ ids: ['projectId', 'deviceId', 'deviceOperationId'] }),
}

/** Limits of this feature. `npm run gen` writes them into docs/operating.md. */
const limits = {
  'device-open-operations': {
    scope: 'device',
    unit: 'operations',
    default: 50,
    max: 10_000,
    meaning: 'Operations of a device that have not ended.',
  },
  'operation-bytes': {
    scope: 'device',
    unit: 'bytes',
    default: 256 * 1024,
    max: 4 * 1024 * 1024,
    meaning: 'Steps of one operation, as JSON.',
  },
  'operation-output-bytes': {
    scope: 'device',
    unit: 'bytes',
    default: 64 * 1024,
    max: 1024 * 1024,
    meaning:
      'Output that is kept of one step of an operation, and the same for its checkpoint. A larger output is left out, with a note.',
  },
} satisfies Record<string, Limit>

declare module '../../platform/limits/limits.ts' {
  interface FeatureLimits extends Record<keyof typeof limits, Limit> {}
}

declare module '../../platform/pipeline/services.ts' {
  interface FeatureServices {
    /** Drives operations of devices. */
    operations: Operations
  }
}

/** Operations: steps that the hub and a device do one after the other (docs/operations.md). */
export const operations = defineFeature({
  actions,
  events,
  jobs,
  limits,
  owners,
  services: { operations: parts => new Operations(parts) },
  onStart: async ({ operations }) => {
    operations.start()
    return operations
  },
  retention: [removeOldOperations],
  onRestore: { deviceOperationIds: holdAfterRestore },
})
