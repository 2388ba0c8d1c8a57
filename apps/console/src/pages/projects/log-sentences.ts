import { formerName, renamed, renaming } from '../audit/shared/phrases.ts'
import type { ActionPhrases, EventSentences } from '../audit/shared/sentence-row.ts'

/** Sentences for the audit events of projects. */
export const projectEvents = {
  projects_Created: { kind: 'project', say: 'created the project {projectId}' },
  projects_Deleted: {
    kind: 'project',
    say: entry => `deleted the project ${formerName(entry, 'projectId')}`,
  },
  projects_PinnedPropertiesChanged: {
    kind: 'project',
    say: 'changed the pinned properties of {projectId}',
  },
  projects_CertificateRenewalChanged: {
    kind: 'project',
    say: ({ data }) =>
      `${data.isAllowed ? 'allowed' : 'forbade'} devices of {projectId} to announce their next certificate`,
  },
  projects_NameChanged: { kind: 'project', say: entry => `renamed the project ${renamed(entry)}` },
  projects_DeploymentTokenCreated: { kind: 'token', say: 'created the token {tokenId}' },
  projects_DeploymentTokenDeleted: {
    kind: 'token',
    say: entry => `deleted the token ${formerName(entry, 'tokenId')}`,
  },
  projects_DeploymentTokenFlagsChanged: {
    kind: 'token',
    say: ({ data, old }) => {
      const { flags } = data
      const before = old?.flags as typeof flags
      if (
        before &&
        before.autoAccept === flags?.autoAccept &&
        before.ownCertificate !== flags?.ownCertificate
      )
        return `turned the certificate of its own of the token {tokenId} ${flags?.ownCertificate ? 'on' : 'off'}`
      return `turned auto-accept of the token {tokenId} ${flags?.autoAccept ? 'on' : 'off'}`
    },
  },
  projects_DeploymentTokenLimitsChanged: { kind: 'token', say: 'changed the limits of the token {tokenId}' },
  projects_DeploymentTokenLabelsChanged: { kind: 'token', say: 'changed the labels of the token {tokenId}' },
  projects_RepositoryAdded: {
    kind: 'repository',
    say: 'linked the repository {repositoryId} to {projectId}',
  },
  projects_RepositoryRemoved: {
    kind: 'repository',
    say: 'unlinked the repository {repositoryId} from {projectId}',
  },
} as const satisfies EventSentences<'projects'>

/** Phrases for the logged actions on projects. */
export const projectActions = {
  projects_Create: { kind: 'project', say: 'create the project [name]' },
  projects_SetName: { kind: 'project', say: renaming('project', 'projectId') },
  projects_Delete: { kind: 'project', say: 'delete the project {projectId}' },
  projects_LinkRepository: { kind: 'repository', say: 'link the repository {repositoryId} to {projectId}' },
  projects_UnlinkRepository: {
    kind: 'repository',
    say: 'unlink the repository {repositoryId} from {projectId}',
  },
  projects_CreateDeploymentToken: { kind: 'token', say: 'create the token [name]' },
  projects_DeleteDeploymentToken: { kind: 'token', say: 'delete the token {tokenId}' },
  projects_SetDeploymentTokenFlags: { kind: 'token', say: 'change auto-accept of the token {tokenId}' },
  projects_SetDeploymentTokenLimits: { kind: 'token', say: 'change the limits of the token {tokenId}' },
  projects_SetDeploymentTokenLabels: { kind: 'token', say: 'change the labels of the token {tokenId}' },
  projects_SetCertificateRenewal: {
    kind: 'project',
    say: 'set whether devices of {projectId} may announce their next certificate',
  },
  projects_SetPinnedProperties: { kind: 'project', say: 'change the pinned properties of {projectId}' },
} as const satisfies ActionPhrases<'projects'>
