/** Replaces the last character of a secret, so that it is a different secret of the same form. */
export function withWrongEnd(secret: string): string {
  return secret.slice(0, -1) + (secret.endsWith('1') ? '2' : '1')
}
