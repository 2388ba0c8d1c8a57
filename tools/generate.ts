// Writes what is derived from the code: API documents from the registry, table types from the migrations. With --check it writes
// nothing and fails when a file differs.
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { actionsMarkdown, openApiDocument, permissionsMarkdown } from '@muster/actions/openapi'
import { startEmbeddedDatabase } from '@muster/hub/database/embedded'
import { migrate } from '@muster/hub/database/migrate'
import { createLog } from '@muster/hub/log'
import { databaseTypes } from './database-types.ts'

const root = join(import.meta.dirname, '..')
const isCheck = process.argv.includes('--check')

const files: Record<string, string> = {
  'docs/actions.md': actionsMarkdown(),
  'docs/permissions.md': permissionsMarkdown(),
  'docs/openapi.json': `${JSON.stringify(openApiDocument(), null, 2)}\n`,
  'apps/hub/src/database/schema.ts': await schemaOfMigrations(),
}
for (const [file, text] of Object.entries(files)) {
  const path = join(root, file)
  const before = await readFile(path, 'utf8').catch(() => '')
  if (before === text) continue
  if (isCheck) {
    process.stderr.write(`${file} is not up to date: run npm run gen\n`)
    process.exitCode = 1
  } else {
    await writeFile(path, text)
    process.stdout.write(`${file} written\n`)
  }
}

async function schemaOfMigrations(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-generate-'))
  // The database's account must be able to enter.
  await chmod(folder, 0o755)
  const log = createLog('error')
  try {
    await using database = await startEmbeddedDatabase(folder, log)
    await migrate(database.access.owner, log)
    return await databaseTypes(database.access.owner)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
