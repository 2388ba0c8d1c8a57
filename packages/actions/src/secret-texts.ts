/**
 * Prefix of a secret (docs/protocol.md 6.1) and at least 20 further characters. This is long enough to exclude ordinary text, and short
 * enough to match truncated secrets.
 */
const SECRET = /((?:deployment|u_sk|u_session_sk|org_sk|d_sk)_)[1-9A-HJ-NP-Za-km-z]{20,}/g

/**
 * Shortens everything that looks like a secret to its prefix and `…`. Messages and logs need this, because a user may put a
 * secret into the wrong setting.
 */
export function withoutSecrets(text: string): string {
  return text.replace(SECRET, '$1…')
}
