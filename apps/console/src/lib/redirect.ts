/** Where to go after signing in: a path of this site with exactly one leading slash, else the start page. */
export function safeRedirect(path: string): string {
  // Browsers read backslashes as slashes and drop control characters, so that both could make a path another site's address.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what the rule refuses
  return /^\/(?!\/)[^\\\u0000-\u001f]*$/.test(path) ? path : '/'
}
