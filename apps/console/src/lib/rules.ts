import { MIN_PASSWORD_LENGTH } from '@muster/actions/client'

/**
 * Pattern of email addresses at sign-up and in invitations. The hub validates more strictly (docs/decisions.md,
 * "Readings of the specification").
 */
const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

/** Whether a text, without surrounding blanks, has the shape of an email address. */
export function isEmail(text: string): boolean {
  return EMAIL.test(text.trim())
}

/** Error texts of a new password and its repetition, by field. Passwords are never trimmed (docs/specification.md 5). */
export function newPasswordErrors({ password, confirmation }: { password: string; confirmation: string }) {
  return {
    // Counts code points, not UTF-16 units, as the hub does.
    password:
      [...password].length >= MIN_PASSWORD_LENGTH
        ? undefined
        : `Password must be at least ${MIN_PASSWORD_LENGTH} characters long.`,
    confirmation: confirmation === password ? undefined : 'Passwords do not match.',
  }
}
