/** Error for a setting that cannot be used. Its message states the setting, the value found and the value expected. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
