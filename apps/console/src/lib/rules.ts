import { MIN_PASSWORD_LENGTH } from '@muster/actions/client'

/** What an address of sign-up and invitations looks like; the hub knows more (decisions "Readings of the spec"). */
const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

/** Whether a text has the shape of an address, blanks around it aside. */
export function isEmail(text: string): boolean {
  return EMAIL.test(text.trim())
}

/** Error texts of a new password and its repetition, by field; passwords are never trimmed (spec 5). */
export function newPasswordErrors({ password, confirmation }: { password: string; confirmation: string }) {
  return {
    // Characters, not the two halves that some of them have in a string: as the hub counts.
    password:
      [...password].length >= MIN_PASSWORD_LENGTH
        ? undefined
        : `Password must be at least ${MIN_PASSWORD_LENGTH} characters long.`,
    confirmation: confirmation === password ? undefined : 'Passwords do not match.',
  }
}
