/** The one place where the console writes to the browser's console. */
export const log = {
  warn(message: string, detail?: unknown) {
    // biome-ignore lint/suspicious/noConsole: every message goes through here
    console.warn(message, detail)
  },
  error(message: string, detail?: unknown) {
    // biome-ignore lint/suspicious/noConsole: every message goes through here
    console.error(message, detail)
  },
}
