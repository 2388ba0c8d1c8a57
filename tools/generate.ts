// Writes the files that are generated from the code: the list of action handlers, the API documents, the tables of audit
// events, limits and metrics, the table types and the checksums of migrations. With --check it writes nothing and fails if a file differs.
import { createHash } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { actionsMarkdown, openApiDocument, permissionsMarkdown } from '@muster/actions/openapi'
import { startEmbeddedDatabase } from '@muster/hub/database/embedded'
import { migrate } from '@muster/hub/database/migrate'
import { limitsMarkdown } from '@muster/hub/limits'
import { createLog } from '@muster/hub/log'
import { metricsMarkdown } from '@muster/hub/metrics'
import { actionHandlers } from './action-handlers.ts'
import { auditEventsMarkdown } from './audit-events.ts'
import { databaseTypes } from './database-types.ts'

const root = join(import.meta.dirname, '..')
const isCheck = process.argv.includes('--check')

const files: Record<string, string> = {
  'apps/hub/src/features/handlers.ts': await actionHandlers(join(root, 'apps/hub/src/features')),
  'docs/actions.md': actionsMarkdown(),
  'docs/permissions.md': permissionsMarkdown(),
  'docs/openapi.json': `${JSON.stringify(openApiDocument(), null, 2)}\n`,
  'apps/hub/src/platform/database/schema.ts': await schemaOfMigrations(),
  'apps/hub/src/platform/database/migrations.sha256': await migrationChecksums('apps/hub/src/platform/database'),
  'docs/api.md': withTable('docs/api.md', await textOf('docs/api.md'), 'events', await auditEvents()),
  'docs/operating.md': withTable(
    'docs/operating.md',
    withTable('docs/operating.md', await textOf('docs/operating.md'), 'limits', limitsMarkdown()),
    'metrics',
    metricsMarkdown(),
  ),
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

/** Replaces the lines between two markers of a document by a table. */
function withTable(file: string, text: string, marker: string, table: string): string {
  const [begin, end] = [`<!-- ${marker}: written by npm run gen -->`, `<!-- ${marker} end -->`]
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from < 0 || to < from) throw new Error(`${file} lacks the markers of ${marker}`)
  return `${text.slice(0, from)}${begin}\n${table}\n${text.slice(to)}`
}

function textOf(file: string): Promise<string> {
  return readFile(join(root, file), 'utf8')
}

async function auditEvents(): Promise<string> {
  const folder = join(root, 'apps/hub/src')
  const declarations = 'platform/audit/events.ts'
  const isOther = (file: string) => /(?<!\.test)\.ts$/.test(file) && file !== declarations
  const others = (await readdir(folder, { recursive: true })).filter(isOther)
  const [text, ...texts] = await Promise.all(
    [declarations, ...others].map(file => readFile(join(folder, file), 'utf8')),
  )
  return auditEventsMarkdown(text!, texts)
}

/** Adds a line for each new migration. The other lines stay, so that `fixtures.test.ts` reports a landed migration that was edited. */
async function migrationChecksums(folder: string): Promise<string> {
  const text = await textOf(`${folder}/migrations.sha256`)
  const names = (await readdir(join(root, folder, 'migrations'))).filter(name => name.endsWith('.sql'))
  const added = names
    .filter(name => !text.includes(name))
    .toSorted()
    .map(async name => {
      const sql = await textOf(`${folder}/migrations/${name}`)
      return `${createHash('sha256').update(sql).digest('hex')}  ${name}\n`
    })
  return text + (await Promise.all(added)).join('')
}

async function schemaOfMigrations(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-generate-'))
  // If this runs as root, PostgreSQL runs under another account, which must be able to enter the folder.
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
