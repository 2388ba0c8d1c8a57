import type { ParsedInput } from '@muster/actions'
import { event } from '../../platform/audit/events.ts'
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

/** Projects, their deployment tokens and linked repositories. */
export const projects = defineFeature({ actions, events, owners })
