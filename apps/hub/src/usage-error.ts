/** Thrown for an invalid command line. The message is one line and includes the usage. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
