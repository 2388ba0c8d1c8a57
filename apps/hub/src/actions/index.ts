import type { Handlers } from '../handler.ts'
import { actor_GetActor } from './accounts/GetActor.ts'
import { users_GetDetails } from './accounts/GetDetails.ts'
import { users_QueryOrganizations } from './accounts/QueryOrganizations.ts'
import { devices_AddCertificate } from './devices/AddCertificate.ts'
import { devices_ClaimOperationWork } from './devices/ClaimOperationWork.ts'
import { devices_Delete } from './devices/Delete.ts'
import { devices_DeleteCertificate } from './devices/DeleteCertificate.ts'
import { devices_GetDetails } from './devices/GetDetails.ts'
import { devices_GetProperty } from './devices/GetProperty.ts'
import { devices_PublishEvents } from './devices/PublishEvents.ts'
import { devices_Query } from './devices/Query.ts'
import { devices_QueryConnections } from './devices/QueryConnections.ts'
import { devices_QueryEvents } from './devices/QueryEvents.ts'
import { devices_QueryProperties } from './devices/QueryProperties.ts'
import { devices_RemoveProperty } from './devices/RemoveProperty.ts'
import { devices_SetCertificateStatus } from './devices/SetCertificateStatus.ts'
import { devices_SetName } from './devices/SetName.ts'
import { devices_SetProperty } from './devices/SetProperty.ts'
import { organizations_Create } from './organizations/Create.ts'
import { organizations_Delete } from './organizations/Delete.ts'
import { organizations_Query } from './organizations/Query.ts'
import { organizations_QueryProjects } from './organizations/QueryProjects.ts'
import { projects_Create } from './projects/Create.ts'
import { projects_CreateDeploymentToken } from './projects/CreateDeploymentToken.ts'
import { projects_Delete } from './projects/Delete.ts'
import { projects_DeleteDeploymentToken } from './projects/DeleteDeploymentToken.ts'
import { projects_GetDetails } from './projects/GetDetails.ts'
import { projects_GetSummary } from './projects/GetSummary.ts'
import { projects_Query } from './projects/Query.ts'
import { projects_QueryDeploymentTokens } from './projects/QueryDeploymentTokens.ts'
import { projects_QueryDevices } from './projects/QueryDevices.ts'
import { projects_SetDeploymentTokenFlags } from './projects/SetDeploymentTokenFlags.ts'
import { projects_SetName } from './projects/SetName.ts'

/** The handler of every action, checked against the registry by the compiler. */
export const handlers: Handlers = {
  actor_GetActor,
  users_GetDetails,
  users_QueryOrganizations,
  organizations_Create,
  organizations_Delete,
  organizations_Query,
  organizations_QueryProjects,
  projects_Create,
  projects_CreateDeploymentToken,
  projects_Delete,
  projects_DeleteDeploymentToken,
  projects_GetDetails,
  projects_GetSummary,
  projects_Query,
  projects_QueryDeploymentTokens,
  projects_QueryDevices,
  projects_SetDeploymentTokenFlags,
  projects_SetName,
  devices_AddCertificate,
  devices_ClaimOperationWork,
  devices_Delete,
  devices_DeleteCertificate,
  devices_GetDetails,
  devices_GetProperty,
  devices_PublishEvents,
  devices_Query,
  devices_QueryConnections,
  devices_QueryEvents,
  devices_QueryProperties,
  devices_RemoveProperty,
  devices_SetCertificateStatus,
  devices_SetName,
  devices_SetProperty,
}
