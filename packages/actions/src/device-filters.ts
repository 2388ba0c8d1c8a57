import {
  CONDITION_FIELDS,
  fieldsWith,
  SCANNING_SORT_NAMES,
  SORT_NAMES,
  TEXT_CONDITION_FIELDS,
  TIME_CONDITION_FIELDS,
} from '@muster/predicates'
import { z } from 'zod'
import { optional, optionalText } from './define.ts'
import { BulkActionId, DeploymentTokenId, DeviceId, PackageId, PackageVersionId } from './ids.ts'
import {
  MAX_COLUMN_PATH_PARTS,
  MAX_CONDITION_LENGTH,
  MAX_CONDITION_PATH_PARTS,
  MAX_FILTER_LENGTH,
  MAX_LAST_SEEN_SECS,
  MAX_LISTED_DEVICES,
  MAX_PROPERTY_CONDITIONS,
} from './limits.ts'
import { Predicate } from './predicates.ts'
import { PropertyName, text, U32 } from './scalars.ts'

/** State of a device, derived from its connection and its health report (docs/protocol.md 4.3). */
export const DeviceStatus = z.enum(['healthy', 'warning', 'error', 'offline'])

/** The field in which a search found a device. */
export const DeviceMatch = z
  .object({
    field: z.enum(['id', 'name', 'hostname', 'ip', 'mac', 'serial', 'label', 'property']),
    value: z
      .string()
      .describe(
        'The whole value, of a property its first 255 characters; MAC addresses with colons, labels as `key=value`.',
      ),
    start: U32.describe('Position of the found part in the value, in characters.'),
    end: U32,
    interface: z.string().optional().describe('Network interface of the address.'),
    name: z
      .string()
      .optional()
      .describe('Name of the property, with the member of its value after a dot, or key of the label.'),
  })
  .describe('The field in which the text was found.')

/** Preset filters of the device list, for frequent questions about a fleet. */
const DevicePreset = z.enum([
  'updateFailed',
  'offlineLong',
  'neverUpdated',
  'pending',
  'sharedIdentity',
  'certificateEnds',
])

const ConditionText = text(MAX_CONDITION_LENGTH)

/** Matches texts of at most `max` parts between dots. */
const partsUpTo = (max: number) => new RegExp(`^[^.]*(?:\\.[^.]*){0,${max - 1}}$`)

const ConditionProperty = PropertyName.regex(
  partsUpTo(MAX_CONDITION_PATH_PARTS),
  `expected at most ${MAX_CONDITION_PATH_PARTS} parts between dots`,
)

/** A condition on a property of a device. `notEquals` and `absent` negate `equals` and `exists`. */
const PropertyCondition = z.discriminatedUnion('operator', [
  z.object({ property: ConditionProperty, operator: z.enum(['exists', 'absent']) }),
  z.object({
    property: ConditionProperty,
    operator: z.enum(['equals', 'notEquals']),
    value: z.union([ConditionText, z.number(), z.boolean(), z.null()]),
  }),
  z.object({
    property: ConditionProperty,
    operator: z.literal('contains'),
    value: ConditionText.min(1).describe(
      'Part of a text, ignoring case; for other values, part of their JSON.',
    ),
  }),
  z.object({ property: ConditionProperty, operator: z.enum(['less', 'greater']), value: z.number() }),
])

/** A condition on a column that is not a property. */
const FieldCondition = z.discriminatedUnion('operator', [
  z.object({ field: z.enum(CONDITION_FIELDS), operator: z.enum(['exists', 'absent']) }),
  z.object({
    field: z.enum(TEXT_CONDITION_FIELDS),
    operator: z.enum(['equals', 'notEquals', 'contains']),
    value: ConditionText.min(1).describe('For `update`, a state in any case.'),
  }),
  z.object({
    field: z.literal(TIME_CONDITION_FIELDS),
    operator: z.enum(['less', 'greater']),
    value: z.int().min(1).max(MAX_LAST_SEEN_SECS).describe('Seconds since the device was last seen.'),
  }),
])

/**
 * A condition on the software that a device reports: its relation to a version, the tag that it follows, a version that the hub does
 * not know, or several versions.
 */
const SoftwareCondition = z.union([
  z.object({
    versionId: PackageVersionId,
    is: z
      .enum(['runs', 'stays', 'leaves', 'stuck', 'installs', 'fails', 'others', 'unknown'])
      .describe(
        '`runs`, `installs`, `fails`, `others` and `unknown` as in `repositories_GetVersionUsage`; `stays`, `leaves` and `stuck` are `running`, `updating` and `failed` in `projects_GetSoftware`.',
      ),
  }),
  z.object({ packageId: PackageId, followsTag: text(MAX_FILTER_LENGTH).min(1) }),
  z.object({
    packageId: optional(PackageId).describe('A package that does not have the version.'),
    reports: text(MAX_FILTER_LENGTH).min(1),
    is: optional(z.enum(['stays', 'leaves', 'stuck'])),
  }),
  z.object({
    packageId: optional(PackageId),
    versions: z
      .enum(['any', 'other'])
      .describe(
        '`any`: any version of the package. `other`: `otherVersions` of the package in `projects_GetSoftware`, and `otherReported` without a package.',
      ),
    is: optional(z.enum(['stays', 'leaves', 'stuck'])),
  }),
])

/** Filter of a device list. A device matches if all parts hold. */
export const DeviceFilter = z.object({
  text: optionalText(text(MAX_FILTER_LENGTH)).describe(
    'Part of a name, host name or id, or the beginning of an address as in `address`, a serial number, a label (key, value or `key=value`) or a property.',
  ),
  address: optionalText(text(MAX_FILTER_LENGTH)).describe(
    'Beginning of an IP or MAC address of the device in any notation, or of the last three bytes of a MAC address.',
  ),
  status: optional(z.enum(['connected', 'disconnected', 'pending'])),
  health: optional(DeviceStatus),
  preset: optional(DevicePreset).describe(
    'Failed updates, disconnected for more than 24 h, no known version, pending certificates, an identity that several machines share, or certificates that end within 30 days.',
  ),
  properties: optional(z.array(PropertyCondition).max(MAX_PROPERTY_CONDITIONS)).describe(
    'Conditions that must all hold.',
  ),
  fields: optional(z.array(FieldCondition).max(MAX_PROPERTY_CONDITIONS)).describe(
    'Conditions on version, state of the update and time last seen, which must all hold.',
  ),
  predicate: optional(Predicate).describe(
    'A condition that must hold. Devices for which it cannot be evaluated do not match.',
  ),
  updateError: optionalText(text(MAX_FILTER_LENGTH)).describe(
    '`updateError` of the devices whose update failed.',
  ),
  updateFailure: optional(
    z.object({
      targetVersion: optionalText(text(MAX_FILTER_LENGTH)),
      error: optionalText(text(MAX_FILTER_LENGTH)),
    }),
  ).describe(
    'Devices whose update to exactly this version failed with exactly this error. An absent part is one that they do not report.',
  ),
  targetVersion: optionalText(text(MAX_FILTER_LENGTH)).describe(
    'Version that the devices install or have installed last, as their update status names it.',
  ),
  tokenId: optional(DeploymentTokenId).describe(
    'Devices that enrolled with this deployment token: a certificate of theirs was first seen with it.',
  ),
  software: optional(SoftwareCondition).describe('Software that the devices report.'),
  bulkActionId: optional(BulkActionId).describe('Devices that a bulk action has changed, such as accepted.'),
  deviceIds: optional(z.array(DeviceId).max(MAX_LISTED_DEVICES)).describe('Only these devices.'),
})

/** Columns whose values are counted like those of properties. The prefix `#` tells them from properties. */
export const ColumnName = z.enum(
  [...TEXT_CONDITION_FIELDS, 'updateError' as const].map(name => `#${name}` as const),
)

/** Columns of a device list that do not show a property, after the column of the name. */
export const ListColumn = z.enum(fieldsWith({}).filter(name => name !== 'name'))

/** Matches the sort orders of a device list for which the hub may have to read all devices of the project. */
export const SCANNING_DEVICE_SORT = new RegExp(`^-?(?:(?:${SCANNING_SORT_NAMES.join('|')})$|=)`)

/** Sort order of a device list. The prefix `=` distinguishes a property called `name` from the field `name`. */
export const DeviceSort = text(MAX_FILTER_LENGTH + 2)
  .regex(
    new RegExp(`^-?(?:${SORT_NAMES.join('|')}|=[a-zA-Z0-9][a-zA-Z0-9._-]{0,255})$`),
    `expected ${SORT_NAMES.join(', ')} or = and the name of a property, with - before it for the descending order`,
  )
  .regex(
    partsUpTo(MAX_COLUMN_PATH_PARTS),
    `expected a property of at most ${MAX_COLUMN_PATH_PARTS} parts between dots`,
  )
  .describe(
    'Field to sort by, descending with a leading `-`; `problems` sorts by status, the gravest first; `=` and a name sort by a property: numbers, texts, truth values, others, not set.',
  )

/**
 * Path of a property or of a member of its object value, such as `app.modem` or `app.modem.signal`. Names of properties may contain dots,
 * so the longest beginning of the path that is a property of the device counts as the name.
 */
export const PropertyPath = text(MAX_FILTER_LENGTH)
  .regex(/^[a-zA-Z0-9]/, 'expected a letter or digit at the beginning')
  .regex(partsUpTo(MAX_COLUMN_PATH_PARTS), `expected at most ${MAX_COLUMN_PATH_PARTS} parts between dots`)
