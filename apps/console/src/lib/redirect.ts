/** Target after sign-in: a path of this site with exactly one leading slash, else the start page. */
export function safeRedirect(path: string): string {
  // Browsers read backslashes as slashes and drop control characters, so a path with either could become the URL of
  // another site.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the rule rejects control characters
  return /^\/(?!\/)[^\\\u0000-\u001f]*$/.test(path) ? path : '/'
}
