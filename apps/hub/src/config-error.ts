/** A setting that cannot be used: says which, what was found and what is expected. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
