import { z } from 'zod'
import { StoredActor } from './accounts.ts'
import { command, listInput, listOutput, optional, optionalText, query, telemetry } from './define.ts'
import { DeviceId, DeviceOperationId, DeviceOperationWorkClaimId, ProjectId } from './ids.ts'
import {
  MAX_CLAIMED_WORK,
  MAX_COMMAND_SECS,
  MAX_OPERATION_STEPS,
  MAX_OPERATION_TEXT_LENGTH,
  MAX_TASK_SECS,
} from './limits.ts'
import { Mutation, Predicate } from './predicates.ts'
import { AnyJson, Empty, Name, openWord, PropertyName, Timestamp, text, U32 } from './scalars.ts'

const When = optional(Predicate).describe(
  'Runs the step only where this holds when the step begins; otherwise the step is `Skipped`.',
)
const timeout = (maxSecs: number, words: string) =>
  optional(z.int().min(1).max(maxSecs)).describe(`Seconds from the beginning of the step. ${words}`)

const WORK_STEPS = [
  z.object({
    kind: z.literal('DeviceCommand'),
    when: When,
    command: text(256).min(1).describe('Name of a command in the manifest of the device.'),
    input: AnyJson,
    timeoutSecs: timeout(MAX_COMMAND_SECS, '3600 when missing.'),
  }),
  z.object({
    kind: z.literal('DeviceTask'),
    when: When,
    task: text(256).min(1).describe('Name of a task that the agent of the device knows.'),
    input: AnyJson,
    timeoutSecs: timeout(MAX_TASK_SECS, '86400 when missing.'),
  }),
] as const

/** A step of an operation. The hub does the steps on properties, the device does commands and tasks. */
export const DeviceOperationStep = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('SetDeviceProperty'),
    when: When,
    name: PropertyName,
    value: AnyJson,
    protected: optional(z.boolean()),
  }),
  z.object({
    kind: z.literal('UpdateDeviceProperty'),
    when: When,
    name: PropertyName,
    mutation: Mutation,
    protected: optional(z.boolean()),
  }),
  z.object({ kind: z.literal('RemoveDeviceProperty'), when: When, name: PropertyName }),
  ...WORK_STEPS,
  z.object({
    kind: z.literal('WaitForDeviceProperty'),
    when: When,
    predicate: Predicate.describe('Ends the step when it holds. A missing value keeps waiting.'),
    failWhen: optional(Predicate).describe('Fails the step at once when it holds.'),
    timeoutSecs: timeout(MAX_TASK_SECS, 'Waits without a limit when missing.'),
  }),
])
export type DeviceOperationStep = z.output<typeof DeviceOperationStep>

/** Kinds of steps that the device does. */
export const DEVICE_OPERATION_WORK_KINDS = ['DeviceCommand', 'DeviceTask'] as const
export type DeviceOperationWorkKind = (typeof DEVICE_OPERATION_WORK_KINDS)[number]

/** States of an operation of a device. */
export const DeviceOperationStatus = z.enum([
  'Pending',
  'Running',
  'Succeeded',
  'Failed',
  'TimedOut',
  'Cancelled',
])
export type DeviceOperationStatus = z.infer<typeof DeviceOperationStatus>

/** States of a step. */
export const DeviceOperationStepStatus = z.enum([
  'Pending',
  'Running',
  'Succeeded',
  'Failed',
  'TimedOut',
  'Skipped',
])
export type DeviceOperationStepStatus = z.infer<typeof DeviceOperationStepStatus>

/** An operation without its steps. */
export const DeviceOperationSummary = z.object({
  deviceOperationId: DeviceOperationId,
  projectId: ProjectId,
  deviceId: DeviceId,
  createdBy: StoredActor.optional(),
  name: z.string(),
  description: z.string().optional(),
  status: openWord(DeviceOperationStatus),
  stepIndex: U32.describe(
    'Step that runs, or at which the operation ended; the number of steps when all are done.',
  ),
  stepCount: U32,
  lastError: z.string().optional(),
  createdAt: Timestamp,
  startedAt: Timestamp.optional(),
  completedAt: Timestamp.optional(),
  updatedAt: Timestamp,
  waitingFor: z.string().optional().describe('What an unfinished operation waits for, in words.'),
  deadlineAt: Timestamp.optional().describe('Time at which the current step times out.'),
  heldAt: Timestamp.optional().describe(
    'Time of the restore that holds the operation. It goes on when it is started again.',
  ),
})
export type DeviceOperationSummary = z.infer<typeof DeviceOperationSummary>

const StepState = z.object({
  stepIndex: U32,
  status: openWord(DeviceOperationStepStatus),
  output: z.unknown().optional(),
  error: z.string().optional(),
  startedAt: Timestamp.optional(),
  completedAt: Timestamp.optional(),
  checkpoint: z.unknown().optional(),
})

/** Steps as they were sent: their values have the spelling of the request. */
const StoredSteps = z
  .array(z.custom<unknown>(value => value !== undefined, 'required'))
  .meta({ items: { $ref: '#/components/schemas/DeviceOperationStep' } })

const Transition = z.object({
  at: Timestamp,
  stepIndex: U32.optional().describe('Absent for a change of the operation itself.'),
  status: z.string(),
  reason: z.string().optional(),
})

const ofOperation = { can: 'operation.manage', on: 'deviceOperation', id: 'deviceOperationId' } as const

/** Operations: steps that the hub and a device do one after the other (docs/operations.md). */
export const operations = {
  devices_QueryOperations: query({
    summary: 'Operations of a device, newest first.',
    input: z.object({
      deviceId: DeviceId,
      ...listInput(['createdAt'], z.object({})),
    }),
    output: z.object({ operations: z.array(DeviceOperationSummary), ...listOutput }),
    permission: { can: 'operation.view', on: 'device', id: 'deviceId' },
  }),
  devices_GetOperation: query({
    summary: 'An operation with its steps and latest changes; `NotFound` also without the right to see it.',
    input: z.object({ deviceOperationId: DeviceOperationId }),
    output: z.discriminatedUnion('result', [
      z.object({ result: z.literal('NotFound') }),
      z.object({
        result: z.literal('Found'),
        summary: DeviceOperationSummary,
        steps: StoredSteps,
        stepStates: z.array(StepState),
        transitions: z
          .array(Transition)
          .describe('The latest 200 changes, oldest first. They are kept for 90 days.'),
      }),
    ]),
    permission: 'user',
  }),
  devices_CreateOperation: command({
    summary: 'Creates an operation of one device. It begins when it is started.',
    input: z.object({
      deviceId: DeviceId,
      name: Name,
      description: optionalText(text(MAX_OPERATION_TEXT_LENGTH)),
      steps: z.array(DeviceOperationStep).min(1).max(MAX_OPERATION_STEPS),
    }),
    output: z.object({ deviceOperationId: DeviceOperationId }),
    permission: { can: 'operation.manage', on: 'device', id: 'deviceId' },
    audit: ['deviceId', 'name'],
    isCreation: true,
  }),
  devices_StartOperation: command({
    summary: 'Starts a pending operation, or lets one go on that a restore holds.',
    input: z.object({ deviceOperationId: DeviceOperationId }),
    output: Empty,
    permission: ofOperation,
    audit: ['deviceOperationId'],
  }),
  devices_CancelOperation: command({
    summary: 'Cancels an operation that has not ended. Steps that are done stay done.',
    input: z.object({ deviceOperationId: DeviceOperationId }),
    output: Empty,
    permission: ofOperation,
    audit: ['deviceOperationId'],
  }),
  devices_ClaimOperationWork: telemetry({
    summary: 'Polled by agents: claims the current steps that the device has to do.',
    input: z.object({
      deviceId: DeviceId,
      limit: optional(z.int().min(1).max(MAX_CLAIMED_WORK)).describe('1 when missing.'),
      kinds: optional(z.array(z.string().max(64)).max(100)).describe('All kinds when missing.'),
    }),
    output: z.object({
      work: z.array(
        z.object({
          deviceOperationId: DeviceOperationId,
          claimId: DeviceOperationWorkClaimId,
          operationName: z.string(),
          stepIndex: U32,
          checkpoint: z
            .unknown()
            .optional()
            .describe('The last checkpoint that a claim before has reported.'),
          step: z.discriminatedUnion('kind', [
            z.object({
              kind: z.literal('DeviceCommand'),
              command: z.string(),
              input: AnyJson,
              timeoutSecs: U32.optional(),
            }),
            z.object({
              kind: z.literal('DeviceTask'),
              task: z.string(),
              input: AnyJson,
              timeoutSecs: U32.optional(),
            }),
          ]),
        }),
      ),
    }),
    permission: 'device',
    audit: ['deviceId'],
  }),
  devices_ReportOperationStep: telemetry({
    summary:
      'Reports progress or the outcome of a claimed step. Repeated and superseded reports change nothing.',
    input: z.object({
      deviceId: DeviceId,
      deviceOperationId: DeviceOperationId,
      stepIndex: U32,
      claimId: DeviceOperationWorkClaimId,
      report: z.object({
        status: z.enum(['Running', 'Succeeded', 'Failed']),
        output: z.unknown().optional(),
        checkpoint: z.unknown().optional(),
        error: optionalText(text(MAX_OPERATION_TEXT_LENGTH)),
      }),
    }),
    output: z.object({
      isSuperseded: z
        .boolean()
        .optional()
        .describe('True if the report changed nothing: the device need not go on with the step.'),
    }),
    permission: 'device',
    audit: ['deviceId', 'deviceOperationId', 'stepIndex'],
  }),
}
