// Exports for other features.
export { isInvitationTo, isOpen } from './invitations.ts'
export { lockMembers, organizationIdsOf } from './organization-members.ts'
export { createOrganization, createOwnOrganization } from './organizations.ts'
