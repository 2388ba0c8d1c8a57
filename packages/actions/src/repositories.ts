import { z } from 'zod'
import {
  command,
  listInput,
  listOutput,
  optional,
  optionalText,
  query,
  type RateLimit,
  secret,
  TextFilter,
  telemetry,
} from './define.ts'
import {
  OrganizationId,
  PackageId,
  PackageVersionId,
  ProjectId,
  RepositoryAssetId,
  RepositoryId,
} from './ids.ts'
import {
  MAX_FILENAME_LENGTH,
  MAX_FILENAME_PART_BYTES,
  MAX_FILTER_LENGTH,
  MAX_METADATA_BYTES,
} from './limits.ts'
import {
  BASE_URL,
  BLANKS,
  CONTROLS,
  decimalUpTo,
  pathWithEmptyParts,
  relativePath,
  STORABLE_TEXT,
} from './patterns.ts'
import { Digest, Empty, JsonObject, Name, PathName, Timestamp, text, U32, U64 } from './scalars.ts'

export const RepositoryVisibility = z.enum(['Public', 'Private'])

/** States of an asset: `Dangling` until its upload was checked, then `Available`, finally `Deleting` (docs/api.md 4.7). */
export const RepositoryAssetStatus = z.enum(['Dangling', 'Available', 'Deleting'])

/** Expected size of a blob in bytes, at most 2^53-1, because JavaScript would round larger numbers. */
const BlobSize = U64.refine(
  Number.isSafeInteger,
  `expected at most ${Number.MAX_SAFE_INTEGER} bytes, which is more than any place takes`,
).meta({
  anyOf: [
    { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    {
      type: 'string',
      maxLength: 20,
      pattern: `^0*${decimalUpTo(BigInt(Number.MAX_SAFE_INTEGER))}$`,
    },
  ],
})

/** Result of the last check of the stored bytes (docs/api.md 4.7). */
const AssetStorage = z.object({
  status: z.enum(['Unknown', 'Present', 'Verified', 'Missing', 'Mismatched', 'Error']),
  checkedAt: Timestamp.optional(),
  detail: z.string().optional(),
})

/** Kind of a package, such as `rugix-app`. Tools define their own kinds. */
const Kind = text(64).regex(new RegExp(`^[^${CONTROLS}]*$`), 'must not contain control characters')

/** JSON schema that requires these text fields and rejects blank values. */
const given = (...fields: string[]) => ({
  required: fields,
  properties: Object.fromEntries(
    fields.map(field => [field, { type: 'string', pattern: `[^${BLANKS}]` }] as const),
  ),
})

/** Metadata of a package, a version or a file: a JSON object with any members, written by operators and their tools. */
const Metadata = JsonObject.refine(
  value => new TextEncoder().encode(JSON.stringify(value)).length <= MAX_METADATA_BYTES,
  `must have at most ${MAX_METADATA_BYTES} bytes as JSON`,
)
  .refine(
    // PostgreSQL's `jsonb` can store neither NUL nor half of a surrogate pair.
    value => !/\\u0000|\\ud[89a-f][0-9a-f]{2}/i.test(JSON.stringify(value).replaceAll('\\\\', '')),
    'must not contain NUL or half of a surrogate pair',
  )
  .meta({
    propertyNames: { type: 'string', pattern: STORABLE_TEXT },
    additionalProperties: { $ref: '#/components/schemas/StorableJson' },
  })

/**
 * Path of a file in a package version: relative, separated by `/`, without empty, `.` and `..` segments, so that it means the
 * same file in a URL, in an archive and on a disk.
 */
const Filename = text(MAX_FILENAME_LENGTH)
  .min(1)
  // Abort early for far too long texts, before the expensive checks. A character has at most two UTF-16 code units.
  .max(2 * MAX_FILENAME_LENGTH, { abort: true })
  .refine(
    value => value.split('/').every(part => new TextEncoder().encode(part).length <= MAX_FILENAME_PART_BYTES),
    `must have at most ${MAX_FILENAME_PART_BYTES} bytes as UTF-8 between slashes`,
  )
  .refine(value => /^[^\p{Cc}\p{Cs}\\]+$/u.test(value), 'must not contain control characters or backslashes')
  .refine(
    value => !/(^|\/)\.{0,2}(\/|$)/.test(value),
    'expected a relative path without empty, "." and ".." parts',
  )
  .meta({ maxLength: MAX_FILENAME_LENGTH, pattern: relativePath(MAX_FILENAME_PART_BYTES) })
/** Filename in a look-up. The schema is lenient, so a text that is no valid filename is reported as not found. */
const AnyFilename = text(1024).min(1)
/** Segment of a path in a look-up: a name or an id. */
const PathPart = text(128).min(1)
/** A new name for use in paths. It must not look like an id, because paths may contain ids as well. */
export const NewPathName = PathName.refine(
  value => ![RepositoryId, PackageId, PackageVersionId].some(id => id.safeParse(value).success),
  'must not look like an id',
)

const VersionTag = z.object({ tag: z.string(), locked: z.boolean() })
const AddTagItem = z.object({
  tag: NewPathName,
  locked: optional(z.boolean()).describe('A locked tag is never moved or removed.'),
  reassign: optional(z.boolean()).describe('Whether the tag may leave another version; true when absent.'),
})
const RemoveTagItem = z.object({ tag: PathName })

/** Input fields of a file to be added to a package or a package version. */
const newFile = { assetId: RepositoryAssetId, filename: Filename, metadata: optional(Metadata) }
const FileOutput = z.object({
  filename: z.string(),
  assetId: RepositoryAssetId,
  size: U64,
  digest: z.string(),
  status: RepositoryAssetStatus,
  storage: AssetStorage.optional(),
  metadata: JsonObject,
})

/** Names of a repository, under the field names of older and newer clients (docs/api.md 2.1). */
export const repositoryNames = {
  name: z.string(),
  displayName: z.string(),
  slug: z.string().optional(),
  publicName: z.string(),
}

/** Longest prefix of object keys, in characters. S3 allows keys of 1024 bytes. */
const MAX_PREFIX_LENGTH = 1024
/** Printable ASCII characters without the space, which are safe in an HTTP header. */
const PrintableText = z
  .string()
  .trim()
  .max(256)
  .regex(/^[!-~]*$/, 'expected ASCII letters, digits and signs')

/**
 * Fields of the S3 settings. The console and older clients send them at the top level of the input, newer clients in a nested
 * object (docs/api.md 2.1).
 */
export const S3 = {
  endpoint: z
    .string()
    .trim()
    .max(2048)
    .refine(value => {
      const url = URL.parse(value)
      return url !== null && /^https?:$/.test(url.protocol) && !/[?#]|^[^/]*\/\/[^/]*@/.test(value)
    }, 'expected a URL that begins with http:// or https://, without a query and without credentials')
    .meta({ pattern: BASE_URL }),
  bucket: z
    .string()
    .trim()
    .regex(
      /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/,
      'expected 3 to 63 lower-case letters, digits, dots and dashes, beginning and ending with a letter or digit',
    )
    .meta({ pattern: `^[${BLANKS}]*[a-z0-9][a-z0-9.-]{1,61}[a-z0-9][${BLANKS}]*$` }),
  region: text(64).regex(/^[a-zA-Z0-9-]+$/, 'expected letters, digits and dashes'),
  prefix: text(MAX_PREFIX_LENGTH)
    // `text()` has already refused texts of more than twice the limit, so the checks below skip such texts.
    .refine(
      value => value.length > 2 * MAX_PREFIX_LENGTH || !/[\p{Cc}\\]/u.test(value),
      'must not contain control characters or backslashes',
    )
    .refine(
      value => value.length > 2 * MAX_PREFIX_LENGTH || !/(^|\/)\.\.?(\/|$)/.test(value),
      'expected a path without "." and ".." parts',
    )
    .meta({ pattern: pathWithEmptyParts(MAX_PREFIX_LENGTH) }),
  accessKeyId: PrintableText.min(1, 'must not be empty'),
  secretAccessKey: secret(PrintableText),
}

/** Steps of a test of an object store, in order. */
export const S3_STEPS = [
  'Reach the endpoint',
  'Sign in',
  'Write an object',
  'Read it back',
  'Delete it',
] as const

const onRepository = (can: 'read' | 'view' | 'manage' | 'delete') =>
  ({ can, on: 'repository', id: 'repositoryId' }) as const
const onPackage = (can: 'read' | 'manage' | 'delete') => ({ can, on: 'package', id: 'packageId' }) as const
const onVersion = (can: 'read' | 'manage' | 'delete') =>
  ({ can, on: 'packageVersion', id: 'versionId' }) as const
const onAsset = (can: 'read' | 'manage' | 'delete') => ({ can, on: 'asset', id: 'assetId' }) as const

const NotFound = z.object({ result: z.literal('NotFound') })
const NameAlreadyExists = z.object({ result: z.literal('NameAlreadyExists') })
const Success = z.object({ result: z.literal('Success') })
const FileAdded = z.union([
  z.object({ result: z.literal('FilenameAlreadyExists') }),
  z.object({ result: z.literal('Added') }),
])

/** Result of each step of a test of an object store, in order, up to the first step that failed. */
/** Rate of calls that connect to an object store which the caller names. */
const S3_TESTS: RateLimit = { perPerson: { calls: 10, perSecs: 60 * 60 } }

const s3Steps = z.array(
  z.object({
    step: z.enum(S3_STEPS),
    isPassed: z.boolean(),
    detail: z.string().describe('What the store answered.'),
    durationMs: z.int().optional().describe('Absent for an endpoint that the hub must not connect to.'),
  }),
)

/** Actions on repositories, packages, versions, tags and assets. */
export const repositories = {
  repositories_Create: command({
    summary: 'Creates a repository, private by default.',
    input: z
      .object({
        organizationId: OrganizationId,
        name: optional(Name).describe('Also becomes the path handle if it is a valid one.'),
        displayName: optional(Name),
        visibility: optional(RepositoryVisibility),
      })
      .refine(input => input.name !== undefined || input.displayName !== undefined, {
        error: 'name or displayName is required',
        path: ['name'],
      })
      .meta({ anyOf: [given('name'), given('displayName')] }),
    output: z.union([
      NameAlreadyExists,
      z.object({ result: z.literal('Created'), repositoryId: RepositoryId }),
    ]),
    permission: { can: 'manage', on: 'organization', id: 'organizationId' },
    failedResults: ['NameAlreadyExists'],
    isCreation: true,
    audit: ['organizationId', 'name', 'displayName', 'visibility'],
    aliases: ['repositories_CreateRepository'],
  }),
  repositories_GetDetails: query({
    summary: 'Names, visibility and counts of a repository.',
    input: z.object({ repositoryId: RepositoryId }),
    output: z.object({
      repositoryId: RepositoryId,
      organizationId: OrganizationId,
      ...repositoryNames,
      visibility: RepositoryVisibility,
      packageCount: U32,
      versionCount: U32,
      assetCount: U32,
    }),
    permission: onRepository('read'),
    aliases: ['repositories_GetRepositoryDetails'],
  }),
  repositories_Delete: command({
    summary: 'Deletes a repository with its packages, versions, assets and links.',
    input: z.object({ repositoryId: RepositoryId }),
    output: Empty,
    permission: onRepository('delete'),
    audit: ['repositoryId'],
    aliases: ['repositories_DeleteRepository'],
  }),
  repositories_SetVisibility: command({
    summary: 'Makes a repository public or private.',
    input: z.object({ repositoryId: RepositoryId, visibility: RepositoryVisibility }),
    output: Empty,
    permission: onRepository('manage'),
    audit: ['repositoryId', 'visibility'],
    aliases: ['repositories_SetRepositoryVisibility'],
  }),
  repositories_SetDisplayName: command({
    summary:
      'Changes the display name of a repository; without one it is shown by its slug, or else by its id.',
    input: z.object({ repositoryId: RepositoryId, displayName: optional(Name) }),
    output: Empty,
    permission: onRepository('manage'),
    audit: ['repositoryId', 'displayName'],
  }),
  repositories_SetSlug: command({
    summary: 'Sets the handle of a repository in paths.',
    input: z.object({ repositoryId: RepositoryId, slug: NewPathName }),
    output: z.union([z.object({ result: z.literal('SlugAlreadyExists') }), Success]),
    permission: onRepository('manage'),
    failedResults: ['SlugAlreadyExists'],
    audit: ['repositoryId', 'slug'],
  }),
  repositories_SetNames: command({
    summary: 'Changes the display name and the slug of a repository together, or neither.',
    input: z.object({
      repositoryId: RepositoryId,
      displayName: Name,
      slug: optional(NewPathName).describe('Absent keeps the slug.'),
    }),
    output: z.union([
      z.object({
        result: z.literal('SlugAlreadyExists'),
        free: z.array(z.string()).describe('Similar slugs that are free.'),
      }),
      Success,
    ]),
    permission: onRepository('manage'),
    failedResults: ['SlugAlreadyExists'],
    audit: ['repositoryId', 'displayName', 'slug'],
  }),
  repositories_GetFollowers: query({
    summary: 'Devices that follow a path with the slug or name that the repository has at present.',
    cost: 'brief',
    input: z.object({ repositoryId: RepositoryId }),
    output: z.object({
      deviceCount: U32.describe('Devices of the organization.'),
      projectCount: U32.describe('Projects of the organization that have these devices.'),
      otherDeviceCount: U32.optional().describe(
        'Devices of other organizations, 0 for a private repository; absent if they were not counted within 2 s.',
      ),
      tookTooLong: z
        .literal(true)
        .optional()
        .describe('The devices of the organization were not counted within 2 s; both counts are 0.'),
    }),
    permission: onRepository('view'),
  }),
  repositories_SetOrganization: command({
    summary: 'Moves a repository to another organization.',
    input: z.object({ repositoryId: RepositoryId, organizationId: OrganizationId }),
    output: Empty,
    permission: 'admin',
    audit: ['repositoryId', 'organizationId'],
  }),
  repositories_QueryPackages: query({
    summary: 'Packages of a repository, by name.',
    cost: 'scan if filtered',
    scanningSort: /^-?latest$/,
    input: z.object({
      repositoryId: RepositoryId,
      ...listInput(['name', 'createdAt', 'latest'], TextFilter),
    }),
    output: z.object({
      packages: z.array(
        z.object({
          packageId: PackageId,
          name: z.string(),
          createdAt: Timestamp,
          kind: z.string().optional(),
          latest: z
            .object({
              versionId: PackageVersionId,
              name: z.string().describe('Name of the version, else the text by which devices report it.'),
              createdAt: Timestamp,
              tags: z.array(z.string()).describe('Tags that are not locked, at most 20.'),
            })
            .optional()
            .describe('The newest version.'),
          stable: z
            .object({ versionId: PackageVersionId, name: z.string() })
            .optional()
            .describe('The version with the tag `stable`.'),
        }),
      ),
      ...listOutput,
    }),
    permission: onRepository('read'),
    aliases: ['repositories_QueryRepositoryPackages'],
  }),
  repositories_QueryAssets: query({
    summary: 'Stored blobs of a repository, newest first.',
    cost: 'scan if filtered',
    input: z.object({
      repositoryId: RepositoryId,
      ...listInput(
        ['createdAt', 'size'],
        z.object({
          text: optionalText(text(MAX_FILTER_LENGTH)).describe('Part of an id or a digest.'),
          status: optional(RepositoryAssetStatus),
        }),
      ),
    }),
    output: z.object({
      assets: z.array(
        z.object({
          assetId: RepositoryAssetId,
          size: U64,
          digest: z.string(),
          status: RepositoryAssetStatus,
          createdAt: Timestamp,
        }),
      ),
      ...listOutput,
    }),
    permission: onRepository('read'),
    aliases: ['repositories_QueryRepositoryAssets'],
  }),
  repositories_QueryLinkedProjects: query({
    summary: 'Projects whose devices may read a repository, by name.',
    cost: 'scan if filtered',
    input: z.object({ repositoryId: RepositoryId, ...listInput(['name'], TextFilter) }),
    output: z.object({
      projects: z.array(z.object({ projectId: ProjectId, name: z.string() })),
      ...listOutput,
    }),
    permission: onRepository('view'),
    aliases: ['repositories_QueryRepositoryProjects'],
  }),
  repositories_GetS3Config: query({
    summary: 'Where a repository keeps its blobs, without the secret.',
    input: z.object({ repositoryId: RepositoryId }),
    output: z.object({
      s3Endpoint: z.string().optional(),
      s3Bucket: z.string().optional(),
      s3Region: z.string().optional(),
      s3Prefix: z.string().optional(),
      s3AccessKeyId: z.string().optional(),
      s3Config: z
        .object({
          endpoint: z.string(),
          bucket: z.string(),
          region: z.string().optional(),
          prefix: z.string().optional(),
          forcePathStyle: z.boolean().optional(),
          accessKeyId: z.string(),
        })
        .describe('Unset texts are empty strings, because newer clients require them.'),
    }),
    permission: onRepository('view'),
    aliases: ['repositories_GetRepositoryS3Config'],
  }),
  repositories_SetS3Config: command({
    summary: 'Sets where a repository keeps its blobs, after testing the access unless `skipTest` is set.',
    input: z
      .object({
        repositoryId: RepositoryId,
        s3Endpoint: optional(S3.endpoint),
        s3Bucket: optional(S3.bucket),
        s3Region: optional(S3.region),
        s3Prefix: optionalText(S3.prefix),
        s3AccessKeyId: optional(S3.accessKeyId),
        s3SecretAccessKey: optional(S3.secretAccessKey).describe('Absent or empty keeps the stored one.'),
        s3Config: optional(
          z.object({
            endpoint: S3.endpoint,
            bucket: S3.bucket,
            region: optional(S3.region),
            prefix: optionalText(S3.prefix),
            forcePathStyle: optional(z.boolean()).describe(
              'Path style when missing, which every store supports.',
            ),
            accessKeyId: S3.accessKeyId,
            secretAccessKey: optional(S3.secretAccessKey),
          }),
        ).describe('The same settings as an object.'),
        skipTest: optional(z.boolean()).describe(
          'Saves the settings without a test, for a store that cannot be reached yet.',
        ),
      })
      .refine(
        ({ s3Config, s3Endpoint, s3Bucket, s3AccessKeyId }) =>
          s3Config !== undefined || (s3Endpoint && s3Bucket && s3AccessKeyId),
        'expected s3Config, or s3Endpoint, s3Bucket and s3AccessKeyId',
      )
      .meta({
        anyOf: [
          { required: ['s3Config'], properties: { s3Config: { type: 'object' } } },
          given('s3Endpoint', 's3Bucket', 's3AccessKeyId'),
        ],
      }),
    output: Empty,
    permission: onRepository('manage'),
    rateLimit: { ...S3_TESTS, countedAs: 'repositories_TestS3Config' },
    audit: ['repositoryId', 'skipTest'],
    aliases: ['repositories_SetRepositoryS3Config'],
  }),
  repositories_TestS3Config: command({
    summary: 'Tests settings of an object store step by step. Saves nothing.',
    input: z.object({
      repositoryId: RepositoryId,
      s3Endpoint: S3.endpoint,
      s3Bucket: S3.bucket,
      s3Region: optional(S3.region),
      s3Prefix: optionalText(S3.prefix),
      s3AccessKeyId: S3.accessKeyId,
      s3SecretAccessKey: secret(PrintableText.min(1, 'must not be empty')),
    }),
    output: z.union([
      z.object({ result: z.literal('Passed'), steps: s3Steps }),
      z.object({
        result: z.literal('Failed'),
        steps: s3Steps,
        advice: z.string().optional().describe('What to change.'),
      }),
    ]),
    permission: onRepository('manage'),
    rateLimit: S3_TESTS,
    failedResults: ['Failed'],
    audit: ['repositoryId'],
  }),
  repositories_RemoveS3Config: command({
    summary:
      'Makes a repository keep new blobs in the storage of the hub; those in its object storage stay there and remain readable.',
    input: z.object({ repositoryId: RepositoryId }),
    output: Empty,
    permission: onRepository('manage'),
    audit: ['repositoryId'],
  }),
  repositories_ResolveName: query({
    summary: 'Finds a repository by its name in paths, or its id.',
    input: z.object({ repository: PathPart }),
    output: z.union([z.object({ result: z.literal('Found'), repositoryId: RepositoryId }), NotFound]),
    permission: 'anyone',
    aliases: ['repositories_ResolveRepositoryName'],
  }),
  repositories_ResolvePackageByPath: query({
    summary: 'Finds a package by repository and name; ids are accepted as well.',
    input: z.object({ repository: PathPart, package: PathPart }),
    output: z.union([
      z.object({ result: z.literal('Found'), repositoryId: RepositoryId, packageId: PackageId }),
      NotFound,
    ]),
    permission: 'anyone',
  }),
  repositories_ResolveVersionByPath: query({
    summary: 'Finds a version by repository, package and tag; ids are accepted as well.',
    input: z.object({ repository: PathPart, package: PathPart, tag: PathPart }),
    output: z.union([
      z.object({
        result: z.literal('Found'),
        repositoryId: RepositoryId,
        packageId: PackageId,
        versionId: PackageVersionId,
      }),
      NotFound,
    ]),
    permission: 'anyone',
    aliases: ['repositories_ResolvePackageVersionByPath'],
  }),
  repositories_ResolveVersionsByPath: query({
    summary:
      'Finds several versions by their paths, as `repositories_ResolveVersionByPath` does, and their files.',
    input: z.object({
      paths: z
        .array(
          z.object({
            repository: PathPart,
            package: PathPart,
            tag: PathPart,
            withFiles: optional(z.boolean()).describe('Adds `files`.'),
          }),
        )
        .max(8),
    }),
    output: z.object({
      versions: z
        .array(
          z.union([
            z.object({
              result: z.literal('Found'),
              repositoryId: RepositoryId,
              packageId: PackageId,
              versionId: PackageVersionId,
              files: z
                .array(FileOutput.pick({ filename: true, size: true, status: true, metadata: true }))
                .optional(),
            }),
            NotFound,
          ]),
        )
        .describe('One for each path, in the same order.'),
    }),
    permission: 'anyone',
  }),
  repositories_ResolveVersionAssetByPath: query({
    summary: 'Finds a file of a version by repository, package, tag and file name.',
    input: z.object({ repository: PathPart, package: PathPart, tag: PathPart, filename: AnyFilename }),
    output: z.union([
      z.object({
        result: z.literal('Found'),
        repositoryId: RepositoryId,
        packageId: PackageId,
        versionId: PackageVersionId,
        assetId: RepositoryAssetId,
      }),
      NotFound,
    ]),
    permission: 'anyone',
    aliases: ['repositories_ResolvePackageVersionAssetByPath'],
  }),
  repositories_GetPackageDetails: query({
    summary: 'Name, version count, metadata and attached files of a package.',
    input: z.object({ packageId: PackageId }),
    output: z.object({
      packageId: PackageId,
      repositoryId: RepositoryId,
      name: z.string(),
      kind: z.string().optional(),
      versionCount: U32,
      metadata: JsonObject,
      assets: z.array(FileOutput),
    }),
    permission: onPackage('read'),
  }),
  repositories_CreatePackage: command({
    summary: 'Creates a package in a repository.',
    input: z.object({
      repositoryId: RepositoryId,
      name: NewPathName,
      kind: optionalText(Kind),
      metadata: optional(Metadata),
    }),
    output: z.union([NameAlreadyExists, z.object({ result: z.literal('Created'), packageId: PackageId })]),
    permission: onRepository('manage'),
    failedResults: ['NameAlreadyExists'],
    audit: ['repositoryId', 'name', 'kind'],
  }),
  repositories_DeletePackage: command({
    summary: 'Deletes a package with its versions, unless one holds a locked tag.',
    input: z.object({ packageId: PackageId }),
    output: Empty,
    permission: onPackage('delete'),
    audit: ['packageId'],
  }),
  repositories_SetPackageName: command({
    summary: 'Renames a package.',
    input: z.object({ packageId: PackageId, name: NewPathName }),
    output: z.union([NameAlreadyExists, Success]),
    permission: onPackage('manage'),
    failedResults: ['NameAlreadyExists'],
    audit: ['packageId', 'name'],
  }),
  repositories_SetPackageKind: command({
    summary: 'Sets or clears the kind of a package.',
    input: z.object({ packageId: PackageId, kind: optionalText(Kind) }),
    output: Empty,
    permission: onPackage('manage'),
    audit: ['packageId', 'kind'],
  }),
  repositories_SetPackageMetadata: command({
    summary: 'Replaces the metadata of a package.',
    input: z.object({ packageId: PackageId, metadata: Metadata }),
    output: Empty,
    permission: onPackage('manage'),
    audit: ['packageId'],
  }),
  repositories_AddPackageAsset: command({
    summary: 'Attaches a stored blob to a package itself.',
    input: z.object({ packageId: PackageId, ...newFile }),
    output: FileAdded,
    permission: onPackage('manage'),
    failedResults: ['FilenameAlreadyExists'],
    audit: ['packageId', 'assetId', 'filename'],
  }),
  repositories_RemovePackageAsset: command({
    summary: 'Detaches a file from a package.',
    input: z.object({ packageId: PackageId, filename: AnyFilename }),
    output: Empty,
    permission: onPackage('manage'),
    audit: ['packageId', 'filename'],
  }),
  repositories_SetPackageAssetMetadata: command({
    summary: 'Replaces the metadata of a file of a package.',
    input: z.object({ packageId: PackageId, filename: AnyFilename, metadata: Metadata }),
    output: Empty,
    permission: onPackage('manage'),
    audit: ['packageId', 'filename'],
  }),
  repositories_QueryPackageVersions: query({
    summary: 'Versions of a package with their tags, newest first.',
    cost: 'scan if filtered',
    input: z.object({
      packageId: PackageId,
      ...listInput(
        ['createdAt'],
        z.object({ text: optionalText(text(MAX_FILTER_LENGTH)).describe('Part of a tag, name or id.') }),
      ),
    }),
    output: z.object({
      versions: z.array(
        z.object({
          versionId: PackageVersionId,
          createdAt: Timestamp,
          name: z.string().optional(),
          tags: z.array(VersionTag),
        }),
      ),
      ...listOutput,
    }),
    permission: onPackage('read'),
  }),
  repositories_GetVersionDetails: query({
    summary: 'Files, tags and metadata of a version.',
    input: z.object({ versionId: PackageVersionId }),
    output: z.object({
      versionId: PackageVersionId,
      repositoryId: RepositoryId,
      packageId: PackageId,
      createdAt: Timestamp,
      name: z.string().optional(),
      assets: z.array(FileOutput),
      tags: z.array(VersionTag),
      metadata: JsonObject,
    }),
    permission: onVersion('read'),
    aliases: ['repositories_GetPackageVersionDetails'],
  }),
  repositories_CreateVersion: command({
    summary: 'Creates a version of a package and tags it in the same step.',
    input: z.object({
      packageId: PackageId,
      tags: optional(z.array(AddTagItem).max(100)),
      name: optionalText(Name),
      metadata: optional(Metadata),
    }),
    output: z.object({ result: z.literal('Created'), versionId: PackageVersionId }),
    permission: onPackage('manage'),
    audit: ['packageId', 'tags', 'name'],
    aliases: ['repositories_CreatePackageVersion'],
  }),
  repositories_DeleteVersion: command({
    summary: 'Deletes a version, unless it holds a locked tag.',
    input: z.object({ versionId: PackageVersionId }),
    output: Empty,
    permission: onVersion('delete'),
    audit: ['versionId'],
    aliases: ['repositories_DeletePackageVersion'],
  }),
  repositories_SetVersionName: command({
    summary: 'Sets or clears the name of a version.',
    input: z.object({ versionId: PackageVersionId, name: optionalText(Name) }),
    output: Empty,
    permission: onVersion('manage'),
    audit: ['versionId', 'name'],
  }),
  repositories_SetVersionMetadata: command({
    summary: 'Replaces the metadata of a version.',
    input: z.object({ versionId: PackageVersionId, metadata: Metadata }),
    output: Empty,
    permission: onVersion('manage'),
    audit: ['versionId'],
  }),
  repositories_TagVersion: command({
    summary: 'Gives tags to a version, all or none, moving them where that is allowed.',
    input: z.object({ versionId: PackageVersionId, tags: z.array(AddTagItem).max(100) }),
    output: Empty,
    permission: onVersion('manage'),
    audit: ['versionId', 'tags'],
    aliases: ['repositories_TagPackageVersion'],
  }),
  repositories_UntagVersion: command({
    summary: 'Removes tags from a version, all or none; locked tags cannot be removed.',
    input: z.object({ versionId: PackageVersionId, tags: z.array(RemoveTagItem).max(100) }),
    output: Empty,
    permission: onVersion('manage'),
    audit: ['versionId', 'tags'],
    aliases: ['repositories_UntagPackageVersion'],
  }),
  repositories_AddVersionAsset: command({
    summary: 'Adds a stored blob to a version under a file name.',
    input: z.object({ versionId: PackageVersionId, ...newFile }),
    output: FileAdded,
    permission: onVersion('manage'),
    failedResults: ['FilenameAlreadyExists'],
    audit: ['versionId', 'assetId', 'filename'],
    aliases: ['repositories_AddPackageVersionAsset'],
  }),
  repositories_RemoveVersionAsset: command({
    summary: 'Removes a file from a version.',
    input: z.object({ versionId: PackageVersionId, filename: AnyFilename }),
    output: Empty,
    permission: onVersion('manage'),
    audit: ['versionId', 'filename'],
    aliases: ['repositories_RemovePackageVersionAsset'],
  }),
  repositories_SetVersionAssetMetadata: command({
    summary: 'Replaces the metadata of a file of a version.',
    input: z.object({ versionId: PackageVersionId, filename: AnyFilename, metadata: Metadata }),
    output: Empty,
    permission: onVersion('manage'),
    audit: ['versionId', 'filename'],
  }),
  repositories_GetAssetDetails: query({
    summary: 'Size, digest, status and use count of a blob.',
    input: z.object({ assetId: RepositoryAssetId }),
    output: z.object({
      assetId: RepositoryAssetId,
      repositoryId: RepositoryId,
      size: U64,
      digest: z.string(),
      status: RepositoryAssetStatus,
      referenceCount: U32.describe('Number of files of versions and packages that use this blob.'),
      storage: AssetStorage.optional(),
    }),
    permission: onAsset('read'),
  }),
  repositories_CreateAsset: command({
    summary: 'Registers a blob before its upload, or returns the existing one with that digest.',
    input: z.object({ repositoryId: RepositoryId, size: BlobSize, digest: Digest }),
    output: z.union([
      z.object({ result: z.literal('AssetAlreadyExists'), assetId: RepositoryAssetId }),
      z.object({ result: z.literal('Created'), assetId: RepositoryAssetId }),
    ]),
    permission: onRepository('manage'),
    audit: ['repositoryId', 'size', 'digest'],
  }),
  repositories_DeleteAsset: command({
    summary: 'Deletes a blob that no file refers to.',
    input: z.object({ assetId: RepositoryAssetId }),
    output: Empty,
    permission: onAsset('delete'),
    audit: ['assetId'],
  }),
  repositories_IssueAssetUploadUrl: command({
    summary: 'Issues short-lived URLs for uploading the bytes of a blob.',
    input: z.object({ assetId: RepositoryAssetId }),
    output: z.object({
      url: z.string().describe('Accepts a plain PUT of the whole body.'),
      verifiedUrl: z
        .string()
        .optional()
        .describe('Accepts a PUT with `headers`; finalize the asset afterwards.'),
      headers: z.record(z.string(), z.string()).optional(),
    }),
    permission: onAsset('manage'),
    audit: ['assetId'],
  }),
  repositories_FinalizeAssetUpload: command({
    summary: 'Checks the uploaded bytes of a blob and makes it available; may be repeated.',
    input: z.object({ assetId: RepositoryAssetId }),
    output: Empty,
    permission: onAsset('manage'),
    audit: ['assetId'],
  }),
  // Each device of an updating fleet requests a URL. The action is telemetry and not a command, so that calls of devices get no audit rows
  // (docs/decisions.md, "Actions and audit").
  repositories_IssueAssetDownloadUrl: telemetry({
    summary: 'Issues a short-lived URL for downloading a blob.',
    input: z.object({
      assetId: RepositoryAssetId,
      filename: optionalText(text(256)).describe('File name for saving in a browser.'),
    }),
    output: z.object({ url: z.string() }),
    permission: onAsset('read'),
    audit: ['assetId', 'filename'],
  }),
}
