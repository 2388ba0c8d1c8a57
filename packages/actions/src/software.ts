import { z } from 'zod'
import { optional, query } from './define.ts'
import { OrganizationId, PackageId, PackageVersionId, ProjectId, RepositoryId } from './ids.ts'
import { Timestamp, U32 } from './scalars.ts'

/** Devices that run a version, by what they do: nothing else, installing another version, or failing to install another version. */
const doing = { running: U32, updating: U32, failed: U32 }

/** Numbers of devices by their relation to one version. Each device counts once. */
const usage = {
  reportCount: U32.optional().describe(
    'Devices that report a version of the package, the `deviceCount` of `projects_GetSoftware`.',
  ),
  runs: U32.describe('Devices that run the version.'),
  installs: U32.describe('Devices that install it and run another version, or none.'),
  fails: U32.describe('Devices that failed to install it and run another version, or none.'),
  others: U32.describe('Other devices that report another version of the package.'),
  unknown: U32.describe('Other devices that report no version, and no package or this one.'),
}

/** A version. If it has no name, `name` is the text by which devices report it. */
const VersionName = z.object({ versionId: PackageVersionId, name: z.string() })
const NamedVersion = VersionName.extend({ createdAt: Timestamp })

/** Up to 20 tags that are not locked, sorted by name. */
const tags = z.array(z.string())

/** A version that the hub does not know, as devices report it. */
const ReportedVersion = z.object({ version: z.string(), ...doing })

const tookTooLong = z.literal(true).optional().describe('Nothing was counted within 2 s.')
const counting = {
  tookTooLong,
  isKept: z.literal(true).optional().describe('The counts are up to 2 s old.'),
}

/** Actions that count devices by the software that they report. The console shows them on pages of projects, packages and versions. */
export const software = {
  projects_GetSoftware: query({
    summary: 'Versions that the devices of a project report, and what the devices do.',
    cost: 'brief',
    input: z.object({ projectId: ProjectId }),
    output: z.object({
      projectId: ProjectId,
      deviceCount: U32.optional(),
      unknown: U32.optional().describe('Devices that report no version.'),
      failed: U32.optional().describe('Devices whose update failed, whether or not they report a version.'),
      packages: z
        .array(
          z.object({
            packageId: PackageId,
            repositoryId: RepositoryId,
            name: z.string(),
            repositoryName: z.string(),
            deviceCount: U32.describe('Devices that report a version of the package.'),
            versions: z
              .array(NamedVersion.extend({ tags, ...doing }))
              .describe('Versions that devices run, newest first, at most 200.'),
            otherVersions: z.object(doing).optional().describe('Devices with further versions.'),
            reported: z.array(ReportedVersion).describe('Versions that the package does not have.'),
            latest: NamedVersion.optional(),
            stable: VersionName.optional().describe('Version with the tag `stable`.'),
          }),
        )
        .describe('Packages of linked repositories, most devices first, at most 100.'),
      packageCount: U32,
      reported: z.array(ReportedVersion).describe('Versions of unknown packages.'),
      otherReported: z
        .object(doing)
        .optional()
        .describe('Versions that the hub does not know, beyond the 50 with the most devices.'),
      ...counting,
    }),
    permission: { can: 'view', on: 'project', id: 'projectId' },
  }),
  repositories_QueryPackageUsage: query({
    summary: 'Devices that report packages of a repository, in projects that the caller can see.',
    cost: 'brief',
    input: z.object({ repositoryId: RepositoryId }),
    output: z.object({
      packages: z
        .array(
          z.object({
            packageId: PackageId,
            deviceCount: U32.describe('Devices that report a version of the package.'),
            latest: VersionName.extend({ runs: U32, fails: U32 }).optional(),
          }),
        )
        .describe('Packages that devices report, the 500 with the most devices.'),
      otherPackages: U32.describe('Further packages that devices report.'),
      projectCount: U32.describe('Linked projects that the caller can see.'),
      tookTooLong,
    }),
    permission: { can: 'read', on: 'repository', id: 'repositoryId' },
  }),
  repositories_GetVersionUsage: query({
    summary: 'Devices that run, install or fail to install a version, in projects that the caller can see.',
    cost: 'brief',
    input: z.object({
      versionId: PackageVersionId,
      history: optional(z.boolean()).describe('Answers `series`.'),
    }),
    output: z.object({
      versionId: PackageVersionId,
      packageId: PackageId,
      reportedAs: z.string().describe('Text by which devices report the version.'),
      newer: VersionName.optional().describe('The next version by creation.'),
      before: VersionName.extend({ fails: U32.optional() })
        .optional()
        .describe('The version before it by creation.'),
      counts: z.object({ deviceCount: U32, ...usage }).optional(),
      projects: z
        .array(
          z.object({
            projectId: ProjectId,
            organizationId: OrganizationId,
            name: z.string(),
            counts: z.object({ deviceCount: U32, ...usage }).optional(),
          }),
        )
        .describe('The 100 with the most devices.'),
      projectCount: U32.describe('Linked projects that the caller can see.'),
      countedProjectCount: U32.describe('Projects in the counts: the 200 with the most devices.'),
      failures: z
        .array(
          z.object({
            error: z.string().optional().describe('With `#` in place of numbers and ids.'),
            deviceCount: U32,
            maxFailureCount: U32.optional(),
            lastReportedAt: Timestamp.optional().describe('Latest report of one of these devices.'),
            projects: z
              .array(z.object({ projectId: ProjectId, deviceCount: U32 }))
              .describe('The 10 with the most devices.'),
            versions: z
              .array(z.object({ version: z.string(), deviceCount: U32 }))
              .describe('The 3 versions that most of these devices run.'),
          }),
        )
        .describe('Reasons of `fails`, the 50 with the most devices.'),
      otherFailures: z.object({ reasonCount: U32, deviceCount: U32 }).optional().describe('Further reasons.'),
      tags: z
        .array(
          z.object({
            tag: z.string(),
            locked: z.boolean(),
            version: VersionName,
            followers: z
              .object({
                deviceCount: U32,
                connectedCount: U32,
                projects: z.array(z.object({ projectId: ProjectId, deviceCount: U32 })),
              })
              .optional()
              .describe('Devices whose update path ends in the tag.'),
            since: Timestamp.optional().describe('Only for those who may read the log of the repository.'),
            before: VersionName.extend({ path: z.string().describe('Its locked tag or its id, for paths.') })
              .optional()
              .describe('Version that had the tag before; as `since`.'),
          }),
        )
        .describe('Tags of this version, and those of the package that are not locked, at most 50.'),
      moves: z
        .array(z.object({ tag: z.string(), at: Timestamp, isHere: z.boolean() }))
        .describe('Tags that moved here or away in the last 14 days, at most 20; as `since`.'),
      series: z
        .object({
          from: Timestamp.describe('Time of the first count.'),
          stepSecs: U32,
          counts: z.array(U32.nullable()).describe('Devices that ran it; null for a time without a count.'),
          compared: VersionName.extend({ counts: z.array(U32.nullable()) }).optional(),
        })
        .optional()
        .describe('One count an hour, for 14 days; absent before the first one.'),
      ...counting,
    }),
    permission: { can: 'read', on: 'packageVersion', id: 'versionId' },
  }),
}
