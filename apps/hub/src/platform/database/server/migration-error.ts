/**
 * Thrown when the hub cannot start on the database: applied migrations were changed or are newer than the hub, a migration fails, or a
 * mark says that the database was moved or is not complete.
 */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
}
