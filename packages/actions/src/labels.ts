import { LABEL_KEY_TEXT, MAX_LABEL_LENGTH, MAX_LABELS } from '@muster/predicates'
import { z } from 'zod'
import { command, optional, optionalText, query } from './define.ts'
import { DeviceId, ProjectId } from './ids.ts'
import { MAX_FILTER_LENGTH, MAX_SUGGESTED_VALUES } from './limits.ts'
import { trimmedText } from './patterns.ts'
import { isVisible, NAME_PATTERNS, text, U32, undirected } from './scalars.ts'
import { hasAtMost } from './text.ts'

/** Key of a label: 1 to 63 characters. */
export const LabelKey = z
  .string()
  .regex(LABEL_KEY_TEXT, 'expected small letters, digits, dots, dashes and underscores, up to 63')

/** Value of a label: 1 to 255 visible characters, on one line. */
export const LabelValue = undirected(
  z
    .string()
    .trim()
    .refine(value => isVisible(value), 'must have a visible character')
    .refine(value => hasAtMost(MAX_LABEL_LENGTH, value), `must have at most ${MAX_LABEL_LENGTH} characters`)
    .refine(value => /^[^\p{Cc}\p{Cs}]*$/u.test(value), 'must not contain control characters'),
).meta({ pattern: trimmedText(MAX_LABEL_LENGTH), allOf: NAME_PATTERNS })

const tooMany = `expected at most ${MAX_LABELS} labels`

/**
 * Labels to set: values by their keys. A record schema would leave out a member named `__proto__` without an error, and would not say what a
 * key may be.
 */
export const LabelsToSet = z
  .custom<Record<string, string>>(
    value => typeof value === 'object' && value !== null && !Array.isArray(value),
    'expected an object',
  )
  .meta({
    type: 'object',
    maxProperties: MAX_LABELS,
    propertyNames: { type: 'string', pattern: LABEL_KEY_TEXT.source },
    additionalProperties: { type: 'string', pattern: trimmedText(MAX_LABEL_LENGTH), allOf: NAME_PATTERNS },
  })
  .transform((given, context): Record<string, string> => {
    const labels = Object.entries(given).map(([key, value]): [string, string] => {
      const read = { key: LabelKey.safeParse(key), value: LabelValue.safeParse(value) }
      for (const { error } of Object.values(read))
        for (const { message } of error?.issues ?? [])
          context.addIssue({ code: 'custom', path: [key], message })
      return [key, read.value.data ?? '']
    })
    if (labels.length > MAX_LABELS) context.addIssue({ code: 'custom', message: tooMany })
    return Object.fromEntries(labels)
  })
/** Keys of labels to remove. */
export const LabelsToRemove = z.array(LabelKey).max(MAX_LABELS, tooMany)

/** Labels as an answer has them. */
export const LabelsOutput = z.record(z.string(), z.string())

const tookTooLong = z.literal(true).optional().describe('Nothing was read within 2 s.')

/** Actions on the labels of devices, the property `dev.muster.labels`. */
export const labels = {
  devices_SetLabels: command({
    summary: 'Sets and removes labels of a device; its other labels stay.',
    input: z
      .object({
        deviceId: DeviceId,
        set: optional(LabelsToSet).describe('Values by key.'),
        remove: optional(LabelsToRemove).describe('Keys. A key that the device does not have is left out.'),
      })
      .refine(({ set = {}, remove = [] }) => !remove.some(key => Object.hasOwn(set, key)), {
        path: ['remove'],
        message: 'found a key that `set` has too',
      }),
    output: z.object({ labels: LabelsOutput.describe('All labels of the device afterwards.') }),
    permission: { can: 'manage', on: 'device', id: 'deviceId' },
    audit: ['deviceId', 'set', 'remove'],
  }),
  projects_QueryLabelKeys: query({
    summary: 'Keys of the labels that devices of a project have, most frequent first.',
    cost: 'brief',
    input: z.object({
      projectId: ProjectId,
      text: optionalText(text(MAX_FILTER_LENGTH)).describe('Part of a key.'),
      limit: optional(z.int().min(1).max(MAX_SUGGESTED_VALUES)).describe('20 when missing.'),
    }),
    output: z.object({
      keys: z.array(
        z.object({ key: z.string(), deviceCount: U32, valueCount: U32.describe('Different values.') }),
      ),
      keyCount: U32.describe('All keys that contain `text`.'),
      tookTooLong,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  projects_QueryLabelValues: query({
    summary: 'Values of a label that devices of a project have, most frequent first.',
    cost: 'brief',
    input: z.object({
      projectId: ProjectId,
      key: LabelKey,
      text: optionalText(text(MAX_FILTER_LENGTH)).describe('Part of a value.'),
      limit: optional(z.int().min(1).max(MAX_SUGGESTED_VALUES)).describe('20 when missing.'),
    }),
    output: z.object({
      values: z.array(z.object({ value: z.string(), deviceCount: U32 })),
      valueCount: U32.describe('All values that contain `text`.'),
      tookTooLong,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
}
