// What other features may use.
export { isInvitationTo, isOpen } from './invitations.ts'
export { lockMembers, organizationIdsOf } from './organization-members.ts'
export { createOrganization, createOwnOrganization } from './organizations.ts'
