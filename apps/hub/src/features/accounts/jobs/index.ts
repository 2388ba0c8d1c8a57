// Written by `npm run gen` from the files of this folder.
export { users_FillCanonicalEmails } from './FillCanonicalEmails.ts'
export { users_SendEmailChangedEmail } from './SendEmailChangedEmail.ts'
export { users_SendEmailChangeEmail } from './SendEmailChangeEmail.ts'
export { users_SendEmailChangeNotice } from './SendEmailChangeNotice.ts'
export { users_SendPasswordChangedEmail } from './SendPasswordChangedEmail.ts'
export { users_SendPasswordEmail } from './SendPasswordEmail.ts'
export { users_SendRegistrationEmail } from './SendRegistrationEmail.ts'
