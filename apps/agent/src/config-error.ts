/** A mistake in the device's configuration or files that a person has to correct; the message is one line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
