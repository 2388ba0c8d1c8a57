/**
 * Prefix of a secret (protocol 6.1) and at least 20 further characters: enough to exclude ordinary text and to match
 * truncated secrets.
 */
const SECRET = /((?:deployment|u_sk|u_session_sk|org_sk|d_sk)_)[1-9A-HJ-NP-Za-km-z]{20,}/g

/**
 * Replaces everything that looks like a secret, for texts in messages and logs. Users may have put a secret into the
 * wrong setting.
 */
export function withoutSecrets(text: string): string {
  return text.replace(SECRET, '$1…')
}
