/** How secrets begin (protocol 6.1), and so much after it that nothing else is taken for one, while one that was cut off still is. */
const SECRET = /((?:deployment|u_sk|u_session_sk|org_sk|d_sk)_)[1-9A-HJ-NP-Za-km-z]{20,}/g

/** A text for people or logs without what looks like a secret in it, which may be there because somebody mixed two settings up. */
export function withoutSecrets(text: string): string {
  return text.replace(SECRET, '$1…')
}
