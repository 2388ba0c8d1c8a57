/**
 * Path to open after sign-in. Only a path of this site with exactly one leading slash is accepted. Any other value
 * becomes the start page, so that a link crafted by an attacker cannot lead to another site.
 */
export function safeRedirect(path: string): string {
  // Browsers read backslashes as slashes and drop control characters, so a path with either could become the URL of
  // another site.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the rule rejects control characters
  return /^\/(?!\/)[^\\\u0000-\u001f]*$/.test(path) ? path : '/'
}
