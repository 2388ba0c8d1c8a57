/** The only module that writes to the browser's console. */
export const log = {
  warn(message: string, detail?: unknown) {
    // biome-ignore lint/suspicious/noConsole: this is the only caller
    console.warn(message, detail)
  },
  error(message: string, detail?: unknown) {
    // biome-ignore lint/suspicious/noConsole: this is the only caller
    console.error(message, detail)
  },
}
