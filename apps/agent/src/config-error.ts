/** Something about the device's configuration or files that a person has to mend; its message is one line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
