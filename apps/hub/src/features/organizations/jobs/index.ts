// Written by `npm run gen` from the files of this folder.
export { organizations_SendInvitationEmail } from './SendInvitationEmail.ts'
