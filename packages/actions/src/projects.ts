import type { DeviceMember } from '@muster/predicates'
import { z } from 'zod'
import { StoredActor } from './accounts.ts'
import {
  command,
  listInput,
  listOutput,
  optional,
  optionalText,
  preference,
  query,
  TextFilter,
} from './define.ts'
import {
  ColumnName,
  DeviceFilter,
  DeviceMatch,
  DeviceSort,
  DeviceStatus,
  PropertyPath,
  SCANNING_DEVICE_SORT,
} from './device-filters.ts'
import {
  DeploymentToken,
  DeploymentTokenId,
  DeviceBlockId,
  DeviceCertificateId,
  DeviceFingerprintId,
  DeviceId,
  OrganizationId,
  ProjectId,
  RepositoryId,
} from './ids.ts'
import { LabelsOutput, LabelsToSet } from './labels.ts'
import {
  CERTIFICATE_ENDS_SOON_DAYS,
  MAX_COUNTED_FILTERS,
  MAX_CURSOR_LENGTH,
  MAX_FILTER_LENGTH,
  MAX_NAME_LENGTH,
  MAX_NEW_DEVICES,
  MAX_PAGE_SIZE,
  MAX_PINS,
  MAX_PROPERTY_COLUMNS,
  MAX_SUGGESTED_NAMES,
  MAX_SUGGESTED_VALUES,
  MAX_TOKEN_DEVICES,
} from './limits.ts'
import { repositoryNames } from './repositories.ts'
import { Empty, Name, PropertyName, Timestamp, text, U32 } from './scalars.ts'

const OWN_CERTIFICATE =
  'A certificate that is active on another device of the project makes the one of a new device `Pending`.'

/** Flags of a new deployment token. A missing flag means false. */
const TokenFlagsInput = z.object({
  autoAccept: optional(z.boolean()),
  ownCertificate: optional(z.boolean()).describe(OWN_CERTIFICATE),
})
/** Flags that replace those of a token. */
const TokenFlagsChange = TokenFlagsInput.extend({
  ownCertificate: optional(z.boolean()).describe(
    `${OWN_CERTIFICATE} Unchanged when missing, because older clients do not know it.`,
  ),
})
const TokenFlags = z.object({
  autoAccept: z.boolean(),
  ownCertificate: z.boolean().optional().describe(`Present and true where it is on. ${OWN_CERTIFICATE}`),
})

const NewDevices = z.int().min(1).max(MAX_NEW_DEVICES)
const TokenDevices = z.int().min(1).max(MAX_TOKEN_DEVICES)

/** Limits of a deployment token on new devices. A missing number means the instance's default. */
const TokenLimitsInput = z.object({
  /** Time from which the token admits no new devices. If absent, the token does not expire. */
  expiresAt: optional(Timestamp),
  /** Total number of devices that may enrol with the token. */
  deviceLimit: optional(TokenDevices),
  newDevicesAtOnce: optional(NewDevices),
  newDevicesPerHour: optional(NewDevices),
})
const TokenLimits = z.object({
  expiresAt: Timestamp.optional(),
  deviceLimit: TokenDevices.optional(),
  newDevicesAtOnce: NewDevices.optional(),
  newDevicesPerHour: NewDevices.optional(),
})

/** End of the certificate of a device that is valid longest, in lists and details of devices. */
export const CertificateEndsAt = Timestamp.optional().describe(
  `End of its last active certificate; present while that is less than ${CERTIFICATE_ENDS_SOON_DAYS} days ahead, or over.`,
)

/** Last refused connection attempt: its time, its reason, and how often in a row this reason occurred (docs/decisions.md, "Devices"). */
export const Refusal = z.object({ at: Timestamp, reason: z.string(), count: U32 })

/**
 * A limit that a device or token exceeded: its name, the message of the error, the number of hits, and the times of the first
 * and the last hit.
 */
export const LimitHit = z.object({
  limit: z.string(),
  message: z.string(),
  count: z.int().min(0),
  firstAt: Timestamp,
  lastAt: Timestamp,
})

/** Kinds of JSON values, as PostgreSQL names them. */
const JsonKind = z.enum(['string', 'number', 'boolean', 'null', 'object', 'array'])

/** Ways to group pending certificates: by the token and the address with which they were first seen, by one of these, or not at all. */
const PendingGrouping = z.enum(['tokenAndAddress', 'token', 'address', 'nothing'])

/** Fields of answers about properties: the number of devices that were read, newest first, and whether reading took too long. */
const readDevices = {
  devicesRead: U32.describe('At most 2,000, the newest ones.'),
  tookTooLong: z.literal(true).optional().describe('Nothing was found within 2 s.'),
}

/** Actions on projects and their deployment tokens (docs/api.md 2.5 and 3.4). */
export const projects = {
  projects_Query: query({
    summary: 'Projects that the caller can see, by name.',
    cost: 'scan if filtered',
    input: z.object(listInput(['name'], TextFilter)),
    output: z.object({
      projects: z.array(z.object({ projectId: ProjectId, name: z.string() })),
      ...listOutput,
    }),
    permission: 'user',
    aliases: ['projects_QueryProjects'],
  }),
  projects_Create: command({
    summary: 'Creates a project in an organization.',
    input: z.object({ organizationId: OrganizationId, name: Name }),
    output: z.object({ result: z.literal('Created'), projectId: ProjectId }),
    permission: { can: 'manage', on: 'organization', id: 'organizationId' },
    isCreation: true,
    audit: ['organizationId', 'name'],
    aliases: ['projects_CreateProject'],
  }),
  projects_GetDetails: query({
    summary: 'Name, organization, device count and retention of a project.',
    input: z.object({ projectId: ProjectId }),
    output: z.object({
      projectId: ProjectId,
      organizationId: OrganizationId,
      name: z.string(),
      deviceCount: U32,
      retention: z
        .object({
          eventDays: U32.describe('For events, past values of properties and ended connections.'),
          auditDays: U32.optional().describe('Absent: for ever.'),
        })
        .describe('Days for which the hub keeps the data of all projects.'),
      certificateRenewal: z.boolean().describe('Connected devices may announce their next certificate.'),
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
    aliases: ['projects_GetProjectDetails'],
  }),
  projects_GetSummary: query({
    summary: 'Counts of a project and its devices as a binned strip, ordered by first seen.',
    input: z.object({
      projectId: ProjectId,
      maxBins: optional(z.int().min(1).max(200)),
      series: optional(z.boolean()).describe('Answers `connectedSeries`, and no bins above 200 devices.'),
    }),
    output: z.object({
      projectId: ProjectId,
      deviceCount: U32,
      connectedCount: U32,
      healthyCount: U32.optional().describe('Connected devices that report neither a warning nor an error.'),
      warningCount: U32.optional().describe('Connected devices that report a degraded health.'),
      errorCount: U32.optional().describe('Connected devices that report an error.'),
      pendingCount: U32.describe('Devices with a pending certificate.'),
      newestDevice: z
        .object({
          deviceId: DeviceId,
          name: z.string().optional(),
          hostname: z.string().optional(),
          firstSeen: Timestamp,
        })
        .optional(),
      bins: z
        .array(z.object({ devices: U32, connected: U32, pending: U32 }))
        .describe('One bin for each device while they fit, else neighbours share bins.'),
      connectedSeries: z
        .object({
          from: Timestamp.describe('Time of the first count.'),
          stepSecs: U32,
          counts: z.array(U32.nullable()).describe('Connected devices; null for a time without a count.'),
        })
        .optional()
        .describe('Connected devices in the last 24 h, one count every 10 minutes.'),
      updateFailure: z
        .object({
          targetVersion: z.string().optional(),
          error: z.string().optional().describe('`updateError` of the devices.'),
          deviceCount: U32,
          countedAt: Timestamp.optional().describe('Time of the count, if it is older than the others.'),
        })
        .optional()
        .describe('The most frequent error of failed updates. Each device counts that failed with it.'),
      isKept: z
        .literal(true)
        .optional()
        .describe('The counts are up to 2 s old; they are counted again at most every 2 s.'),
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  projects_GetPins: query({
    summary: 'Properties that the caller has pinned on the pages of the devices of a project.',
    input: z.object({ projectId: ProjectId }),
    output: z.object({
      properties: z.array(z.string()),
      projectProperties: z
        .array(z.object({ name: z.string(), label: z.string().optional() }))
        .describe('Properties that are pinned in the project, for everyone.'),
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  projects_SetPinnedProperties: command({
    summary: 'Sets the properties that stand first on the pages of all devices of a project, for everyone.',
    input: z.object({
      projectId: ProjectId,
      properties: z
        .array(z.object({ name: PropertyName, label: optionalText(text(MAX_NAME_LENGTH)) }))
        .max(MAX_PINS)
        .describe('Each property once.'),
    }),
    output: Empty,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId', 'properties'],
  }),
  projects_SetPins: preference({
    summary: 'Keeps the properties that the caller has pinned. Nobody else sees them.',
    input: z.object({
      projectId: ProjectId,
      properties: z
        .array(PropertyName)
        .max(MAX_PINS)
        .refine(names => new Set(names).size === names.length, 'must not have a property twice')
        .meta({ uniqueItems: true }),
    }),
    output: Empty,
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  projects_SetName: command({
    summary: 'Renames a project.',
    input: z.object({ projectId: ProjectId, name: Name }),
    output: Empty,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId', 'name'],
  }),
  projects_SetCertificateRenewal: command({
    summary: 'Sets whether connected devices of a project may announce their next certificate.',
    input: z.object({ projectId: ProjectId, isAllowed: z.boolean() }),
    output: Empty,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId', 'isAllowed'],
  }),
  projects_Delete: command({
    summary: 'Deletes a project with its devices and tokens and disconnects its devices.',
    input: z.object({ projectId: ProjectId }),
    output: Empty,
    permission: { can: 'delete', on: 'project', id: 'projectId' },
    audit: ['projectId'],
    aliases: ['projects_DeleteProject'],
  }),
  projects_QueryDevices: query({
    summary: 'Devices of a project, by first seen.',
    cost: 'scan if filtered',
    scanningSort: SCANNING_DEVICE_SORT,
    input: z.object({
      projectId: ProjectId,
      ...listInput(DeviceSort, DeviceFilter),
      countTotal: optional(z.boolean()).describe(
        'False omits `total` when there are more pages: counting all devices takes longer than reading a page.',
      ),
      columns: optional(z.array(PropertyPath).max(MAX_PROPERTY_COLUMNS)).describe(
        'Paths of properties to answer in `properties`; `dev.muster.labels.site` is the label `site`.',
      ),
    }),
    output: z.object({
      devices: z.array(
        z.object({
          deviceId: DeviceId,
          name: z.string().optional(),
          hostname: z.string().optional(),
          firstSeen: Timestamp,
          status: DeviceStatus,
          isConnected: z.boolean(),
          pendingCertificatesCount: U32,
          lastConnectedAt: Timestamp.optional(),
          lastSeenAt: Timestamp.optional().describe(
            'End of the last connection of a disconnected device; only with `limit`.',
          ),
          currentConnectionDurationSecs: U32.optional(),
          currentVersion: z
            .string()
            .optional()
            .describe('From `dev.nexigon.ota.status`, cut, as the next four.'),
          updateTargetVersion: z.string().optional(),
          updateState: z.string().optional().describe('State that the update script reports; any text.'),
          updateFailureCount: U32.optional(),
          updateError: z.string().optional().describe('Last error with `#` in place of numbers and ids.'),
          properties: z
            .record(z.string(), z.string())
            .optional()
            .describe(
              'Values of `columns` by path, cut to 200 characters: texts without quotes, others as JSON. Without those that are not set.',
            ),
          hasSharedIdentity: z
            .boolean()
            .optional()
            .describe('Present and true while machines take its connection over from each other.'),
          certificateEndsAt: CertificateEndsAt,
          labels: LabelsOutput.optional().describe('Absent without a label.'),
          match: DeviceMatch.optional().describe('Where `filter.text` was found.'),
        } satisfies Record<
          DeviceMember | 'currentConnectionDurationSecs' | 'properties' | 'labels' | 'match',
          z.ZodType
        >),
      ),
      memberColumns: z
        .array(z.string())
        .optional()
        .describe(
          'Columns that show members of values on this page, and no property. A list cannot be sorted by members.',
        ),
      ...listOutput,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
    aliases: ['projects_QueryProjectDevices'],
  }),
  projects_QueryBlockedDevices: query({
    summary: 'Blocked devices of a project, the latest first.',
    cost: 'scan if filtered',
    input: z.object({ projectId: ProjectId, ...listInput(['blockedAt', 'name'], TextFilter) }),
    output: z.object({
      blocks: z.array(
        z.object({
          blockId: DeviceBlockId,
          deviceId: DeviceId.describe('Id that the device had.'),
          fingerprintId: DeviceFingerprintId,
          name: z.string().optional(),
          hostname: z.string().optional(),
          certificateCount: U32.describe('Certificates that are refused with it.'),
          blockedAt: Timestamp,
          actor: StoredActor,
          actorName: z.string().optional(),
        }),
      ),
      ...listOutput,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  projects_UnblockDevice: command({
    summary: 'Removes a block, so that the device may connect again as a new one.',
    input: z.object({ projectId: ProjectId, blockId: DeviceBlockId }),
    output: Empty,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId', 'blockId'],
  }),
  projects_QueryPendingCertificates: query({
    summary:
      'Pending certificates of a project in groups: groups unlike the others first, then the newest group.',
    cost: 'brief',
    input: z.object({
      projectId: ProjectId,
      groupBy: optional(PendingGrouping).describe('`tokenAndAddress` when missing.'),
      filter: optional(
        z.object({
          text: optionalText(text(MAX_FILTER_LENGTH)).describe(
            'Part of the name or id of a token, of an address, of a name, host name or id of a device, or of a fingerprint.',
          ),
          seenUntil: optional(Timestamp).describe('Leaves out certificates that were first seen later.'),
          groupKey: optionalText(text(MAX_FILTER_LENGTH)).describe('Key of one group, as in `groups`.'),
        }),
      ),
      limit: optional(z.int().min(1).max(MAX_PAGE_SIZE)).describe('50 when missing.'),
      cursor: optionalText(text(MAX_CURSOR_LENGTH)).describe('`nextCursor` of the previous page.'),
      idsOnly: optional(z.boolean()).describe('Answers `certificateIds` of all matches instead of a page.'),
    }),
    output: z.object({
      certificates: z.array(
        z.object({
          certificateId: DeviceCertificateId,
          deviceId: DeviceId,
          name: z.string().optional(),
          hostname: z.string().optional(),
          fingerprint: z.string(),
          firstSeen: Timestamp,
          tokenId: DeploymentTokenId.optional(),
          remoteAddress: z.string().optional(),
          groupKey: z.string().describe('Key of its group in `groups`.'),
          /** Present if the device has another certificate that is no longer pending. */
          known: z
            .object({
              isConnected: z.boolean(),
              acceptedAt: Timestamp.optional().describe('Time at which its active certificate was accepted.'),
            })
            .optional(),
          sameCertificate: z
            .object({ deviceId: DeviceId, name: z.string().optional(), hostname: z.string().optional() })
            .optional()
            .describe('Another device of the project on which this certificate is active.'),
          sameHostname: z
            .object({ deviceId: DeviceId, name: z.string().optional() })
            .optional()
            .describe('Another device of the project with the same host name.'),
        }),
      ),
      groups: z.array(
        z.object({
          groupKey: z.string(),
          isUnlike: z
            .literal(true)
            .optional()
            .describe(
              'Present if a certificate in it is unlike the others: its device has another one, another device has it, or its address is new for its token.',
            ),
          tokenId: DeploymentTokenId.optional(),
          tokenName: z.string().optional().describe('Absent where the token is deleted or was not recorded.'),
          isTokenDeleted: z.boolean(),
          remoteAddress: z.string().optional(),
          certificateCount: U32,
          deviceCount: U32,
          knownDeviceCount: U32.describe('Devices that had another certificate before.'),
          firstHostname: z.string().optional(),
          lastHostname: z.string().optional(),
          /**
           * Present if no certificate that came with this token from this address was decided yet, while certificates from other
           * addresses were accepted.
           */
          newAddress: z
            .object({ acceptedDevices: U32, addresses: z.array(z.string()), addressCount: U32 })
            .optional(),
          sameNetwork: z
            .object({ network: z.string(), acceptedDevices: U32, ofDevices: U32 })
            .optional()
            .describe(
              'Accepted certificates of this token from the network of this address (/24, or /64 for IPv6), of all accepted ones with an address.',
            ),
        }),
      ),
      certificateIds: z.array(DeviceCertificateId).optional(),
      seenUntil: Timestamp.describe('Time of the first page, to which later pages keep.'),
      newerCount: U32.nullable().describe('Certificates that were first seen after that time.'),
      total: U32.nullable().describe('Null, as the numbers beside it, where 2 s did not suffice to count.'),
      deviceTotal: U32.nullable(),
      nextCursor: z.string().optional(),
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  projects_QueryDeviceCounts: query({
    summary: 'Numbers of devices that match each of some filters.',
    cost: 'brief',
    input: z.object({
      projectId: ProjectId,
      filters: z.array(DeviceFilter).min(1).max(MAX_COUNTED_FILTERS),
      mayBeKept: optional(z.boolean()).describe(
        'Takes counts that are up to 10 s old, which all callers with this input share, as for saved views.',
      ),
    }),
    output: z.object({
      counts: z.array(U32.nullable()).describe('In the order of `filters`; null where 2 s did not suffice.'),
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  projects_QueryPropertyNames: query({
    summary: 'Properties that devices of a project have, and members of their values.',
    cost: 'brief',
    input: z.object({
      projectId: ProjectId,
      text: optionalText(text(MAX_FILTER_LENGTH)).describe('Part of a path.'),
      namesOnly: optional(z.boolean()).describe('Leaves out members of values.'),
      limit: optional(z.int().min(1).max(MAX_SUGGESTED_NAMES)).describe('50 when missing.'),
    }),
    output: z.object({
      names: z.array(
        z.object({
          path: z.string(),
          kinds: z.array(JsonKind),
          deviceCount: U32.describe('Devices among those that were read.'),
          distinctCount: U32.describe('Different values.'),
          lowest: z.number().optional(),
          highest: z.number().optional(),
          example: z.string().optional().describe('A text, cut to 64 characters.'),
        }),
      ),
      matchCount: U32.describe('Paths that contain `text`.'),
      nameCount: U32.describe('All paths.'),
      ...readDevices,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  projects_QueryPropertyValues: query({
    summary:
      'Values of a property, or of a column, among the devices that match a filter, most frequent first.',
    cost: 'brief',
    input: z.object({
      projectId: ProjectId,
      property: z
        .union([PropertyName, ColumnName])
        .describe('Name of a property, or a column; `#updateError` counts the reasons of failed updates.'),
      filter: optional(DeviceFilter),
      text: optionalText(text(MAX_FILTER_LENGTH)).describe('Part of a value.'),
      limit: optional(z.int().min(1).max(MAX_SUGGESTED_VALUES)).describe('20 when missing.'),
    }),
    output: z.object({
      values: z.array(
        z.object({
          value: z.union([z.string(), z.number(), z.boolean(), z.null()]),
          deviceCount: U32,
        }),
      ),
      distinctCount: U32.describe(
        'Different values, without objects, arrays and texts above 256 characters.',
      ),
      otherCount: U32.describe('Devices with an object, an array or a longer text.'),
      absentCount: U32.describe('Devices without the property.'),
      numbers: z
        .object({
          deviceCount: U32,
          lowest: z.number(),
          lowerQuartile: z.number(),
          median: z.number(),
          upperQuartile: z.number(),
          highest: z.number(),
        })
        .optional()
        .describe('Distribution of the values that are numbers.'),
      ...readDevices,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  projects_QueryLinkedRepositories: query({
    summary: 'Repositories that the devices of a project may read, by name.',
    cost: 'scan if filtered',
    input: z.object({ projectId: ProjectId, ...listInput(['name'], TextFilter) }),
    output: z.object({
      repositories: z.array(z.object({ repositoryId: RepositoryId, ...repositoryNames })),
      ...listOutput,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
    aliases: ['projects_QueryProjectRepositories'],
  }),
  projects_LinkRepository: command({
    summary: 'Lets the devices of a project read a repository.',
    input: z.object({ projectId: ProjectId, repositoryId: RepositoryId }),
    output: Empty,
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    audit: ['projectId', 'repositoryId'],
    aliases: ['projects_AddProjectRepository'],
  }),
  projects_UnlinkRepository: command({
    summary: 'Withdraws the right to read a repository from the devices of a project.',
    input: z.object({ projectId: ProjectId, repositoryId: RepositoryId }),
    output: Empty,
    permission: { can: 'delete', on: 'project', id: 'projectId' },
    audit: ['projectId', 'repositoryId'],
    aliases: ['projects_RemoveProjectRepository'],
  }),
  projects_QueryDeploymentTokens: query({
    summary: 'Deployment tokens of a project without their secrets, newest first.',
    cost: 'scan if filtered',
    input: z.object({ projectId: ProjectId, ...listInput(['createdAt', 'name'], TextFilter) }),
    output: z.object({
      tokens: z.array(
        z.object({
          tokenId: DeploymentTokenId,
          createdAt: Timestamp,
          name: z.string().optional(),
          flags: TokenFlags,
          /** Limits set for this token. */
          limits: TokenLimits,
          /**
           * Current budget for new devices: its capacity, the number of devices by which it refills per hour, and the number left.
           */
          budget: z.object({ atOnce: U32, perHour: U32, left: U32 }),
          /** Number of devices that enrolled with the token, including devices deleted since. */
          enrolledDevices: U32,
          /** Number of enrolment attempts refused by the token's expiry, device limit or budget since its limits were set. */
          refusedDevices: z.int().min(0),
          lastRefusal: Refusal.optional(),
          lastUse: z
            .object({
              at: Timestamp,
              deviceId: DeviceId.optional().describe('Absent if the device has been deleted since.'),
              deviceName: z.string().optional(),
              hostname: z.string().optional(),
              address: z.string(),
            })
            .optional()
            .describe('Last connection that the token authenticated, up to a minute old.'),
          labels: LabelsOutput.optional().describe('Labels of the devices that enrol with it.'),
        }),
      ),
      ...listOutput,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
    aliases: ['projects_QueryProjectDeploymentTokens'],
  }),
  projects_CreateDeploymentToken: command({
    summary: 'Issues a token with which devices enrol; its secret is returned only here.',
    input: z.object({
      projectId: ProjectId,
      name: Name,
      flags: optional(TokenFlagsInput),
      limits: optional(TokenLimitsInput),
      labels: optional(LabelsToSet).describe('Labels of the devices that enrol with it.'),
    }),
    output: z.object({ tokenId: DeploymentTokenId, token: DeploymentToken }),
    permission: { can: 'manage', on: 'project', id: 'projectId' },
    isCreation: true,
    audit: ['projectId', 'name', 'flags', 'limits', 'labels'],
    shownOnce: ['token'],
  }),
  projects_DeleteDeploymentToken: command({
    summary: 'Revokes a deployment token and disconnects the devices that are connected with it.',
    input: z.object({ tokenId: DeploymentTokenId }),
    output: Empty,
    permission: { can: 'delete', on: 'deploymentToken', id: 'tokenId' },
    audit: ['tokenId'],
  }),
  projects_SetDeploymentTokenFlags: command({
    summary: 'Replaces the flags of a deployment token.',
    input: z.object({ tokenId: DeploymentTokenId, flags: TokenFlagsChange }),
    output: Empty,
    permission: { can: 'manage', on: 'deploymentToken', id: 'tokenId' },
    audit: ['tokenId', 'flags'],
  }),
  projects_SetDeploymentTokenLimits: command({
    summary:
      'Replaces the limits of a deployment token on new devices; devices that enrolled before are not affected.',
    input: z.object({ tokenId: DeploymentTokenId, limits: TokenLimitsInput }),
    output: Empty,
    permission: { can: 'manage', on: 'deploymentToken', id: 'tokenId' },
    audit: ['tokenId', 'limits'],
  }),
  projects_SetDeploymentTokenLabels: command({
    summary:
      'Replaces the labels that a deployment token gives to new devices; enrolled devices keep theirs.',
    input: z.object({
      tokenId: DeploymentTokenId,
      labels: LabelsToSet.describe('All labels; empty for none.'),
    }),
    output: Empty,
    permission: { can: 'manage', on: 'deploymentToken', id: 'tokenId' },
    audit: ['tokenId', 'labels'],
  }),
}
