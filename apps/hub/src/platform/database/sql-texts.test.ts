import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const SOURCES = join(import.meta.dirname, '../..')

/** Matches calls that put a string into SQL without escaping it. Values belong in parameters. */
const MADE_OF_TEXTS =
  /sql\.(raw|lit|id)\(|CompiledQuery\.raw\(|\bselect(<[^(]*>)?\([^,()]+,\s*`[^`]*\$\{|\bquery(<[^(]*>)?\(\s*(`[^`]*\$\{|'[^']*' \+)/g

/** Files with calls that match `MADE_OF_TEXTS`: the number of matches, and the origin of the strings in the SQL. Justify each new call. */
const KNOWN: Record<string, [times: number, what: string]> = {
  'platform/audit/seal.ts': [5, 'constant lists of columns and formats of times'],
  'platform/audit/verify.ts': [3, 'constant cursor names, queries and batch size'],
  'platform/backup/load.ts': [
    8,
    'names and definitions that PostgreSQL has quoted, names quoted by pg, and bounds of a checked form',
  ],
  'platform/backup/move.ts': [1, 'names quoted by pg'],
  'platform/backup/snapshot.ts': [2, 'names quoted by pg, and a constant number'],
  'platform/backup/testing/fixture-database.ts': [1, 'names of tables of a test'],
  'platform/cluster/testing/shared-outage.ts': [3, 'numbers and ids of a test'],
  'platform/database/client/connection.ts': [1, 'statements that callers hold as constants'],
  'link/telemetry/device-events.ts': [1, 'one constant statement'],
  'link/gateway/new-devices.ts': [1, 'one constant statement'],
  'features/devices/actions/QueryEvents.ts': [5, 'constant columns, numbers of parameters, and a day'],
  'link/telemetry/event-times.ts': [2, 'constant conditions'],
  'features/devices/device-sql.ts': [4, 'names of statuses, and a number of days, which are constant'],
  'features/labels/device-labels.ts': [1, 'a constant subquery'],
  'features/devices/name-keys.ts': [2, 'the first characters of keys, which are constant'],
  'features/devices/version-order.ts': [2, 'sort direction and comparison by a flag'],
  'features/devices/events-by-time.ts': [5, 'constant days and times'],
  'features/devices/device-search.ts': [4, 'ranks of the kinds of matches, which are constant numbers'],
  'features/devices/property-order.ts': [6, 'sort directions and a comparison by a flag'],
  'features/repositories/repositories.ts': [1, 'constant conditions of a path'],
  'platform/database/server/embedded.ts': [
    2,
    'the names of its two roles, and passwords that it generated in base64url',
  ],
  'platform/database/server/lock-waits.ts': [1, 'a whole number of milliseconds'],
  'platform/database/server/migrate.ts': [
    2,
    'the name of an index that a migration creates, and one of two functions for locks',
  ],
  'platform/database/server/table-lock.ts': [2, 'the constant key of a lock'],
  'platform/jobs/install.ts': [1, 'constant names and columns of indexes'],
  'platform/sessions/person-uses.ts': [2, 'a condition on a constant column'],
  'platform/database/client/page.ts': [
    3,
    'sort direction and comparison by a flag, a type from a closed list',
  ],
}

it('is built from strings only in known places', () => {
  const found: Record<string, number> = {}
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter(name => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
    const times = readFileSync(join(SOURCES, file), 'utf8').match(MADE_OF_TEXTS)?.length ?? 0
    if (times > 0) found[file] = times
  }
  expect(found).toEqual(Object.fromEntries(Object.entries(KNOWN).map(([file, [times]]) => [file, times])))
})
