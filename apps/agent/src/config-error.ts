/** A mistake in the device's configuration or files that the operator has to correct. The message is a single line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
