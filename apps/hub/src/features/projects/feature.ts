import type { ParsedInput } from '@muster/actions'
import { event } from '../../platform/audit/events.ts'
import type { Limit } from '../../platform/limits/limits.ts'
import { defineFeature } from '../../platform/pipeline/feature.ts'
import * as actions from './actions/index.ts'
import { owners } from './owners.ts'

/** Audit events of this feature. `npm run gen` writes them into docs/api.md 5 and the contract. */
const events = {
  /** Written by `projects_Create`, and at the first start of an instance or of its demo fleet. */
  projects_Created: event<{ projectId: string }>({ ids: ['projectId'] }),
  /** Written by `projects_Delete`. */
  projects_Deleted: event<{ projectId: string }>({ ids: ['projectId'] }),
  /** Written by `projects_SetPinnedProperties`. */
  projects_PinnedPropertiesChanged: event<{
    projectId: string
    properties: { name: string; label?: string | undefined }[]
  }>({ ids: ['projectId'] }),
  /** Written by `projects_SetName`. */
  projects_NameChanged: event<{ projectId: string; name: string }>({ ids: ['projectId'] }),
  /** Written by `projects_SetCertificateRenewal`. */
  projects_CertificateRenewalChanged: event<{ projectId: string; isAllowed: boolean }>({
    ids: ['projectId'],
  }),
  /** Written by `projects_CreateDeploymentToken`, and at the first start of an instance or of its demo fleet. */
  projects_DeploymentTokenCreated: event<{
    projectId: string
    tokenId: string
    flags: { autoAccept: boolean; ownCertificate?: boolean }
  }>({ ids: ['projectId', 'tokenId'] }),
  /** Written by `projects_DeleteDeploymentToken`. */
  projects_DeploymentTokenDeleted: event<{ projectId: string; tokenId: string }>({
    ids: ['projectId', 'tokenId'],
  }),
  /** Written by `projects_SetDeploymentTokenFlags`. */
  projects_DeploymentTokenFlagsChanged: event<{
    projectId: string
    tokenId: string
    flags: { autoAccept: boolean; ownCertificate?: boolean }
  }>({ ids: ['projectId', 'tokenId'] }),
  /** Written by `projects_SetDeploymentTokenLabels`. */
  projects_DeploymentTokenLabelsChanged: event<{
    projectId: string
    tokenId: string
    labels: ParsedInput<'projects_SetDeploymentTokenLabels'>['labels']
  }>({ ids: ['projectId', 'tokenId'] }),
  /** Written by `projects_SetDeploymentTokenLimits`. */
  projects_DeploymentTokenLimitsChanged: event<{
    projectId: string
    tokenId: string
    limits: ParsedInput<'projects_SetDeploymentTokenLimits'>['limits']
  }>({ ids: ['projectId', 'tokenId'] }),
  /** Written by `projects_LinkRepository`. */
  projects_RepositoryAdded: event<{ projectId: string; repositoryId: string }>({
    ids: ['projectId', 'repositoryId'],
  }),
  /** Written by `projects_UnlinkRepository`, and when a repository becomes private or a private repository moves. */
  projects_RepositoryRemoved: event<{ projectId: string; repositoryId: string }>({
    ids: ['projectId', 'repositoryId'],
  }),
}

/** Limits of this feature. `npm run gen` writes them into docs/operating.md. */
const limits = {
  'organization-projects': {
    scope: 'organization',
    unit: 'projects',
    default: 2_000,
    max: 1_000_000,
    meaning: 'Projects of an organization.',
  },
  'project-deployment-tokens': {
    scope: 'project',
    unit: 'tokens',
    default: 1_000,
    max: 1_000_000,
    meaning: 'Deployment tokens of a project.',
  },
} satisfies Record<string, Limit>

declare module '../../platform/limits/limits.ts' {
  interface FeatureLimits extends Record<keyof typeof limits, Limit> {}
}

/** Projects, their deployment tokens and linked repositories. */
export const projects = defineFeature({ actions, events, limits, owners })
