/** A mistake in the device's configuration or files that a person has to correct. The message is a single line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
