import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const SOURCES = join(import.meta.dirname, '..')

/** Ways to put a text into SQL as it is; values go through parameters instead. */
const MADE_OF_TEXTS =
  /sql\.(raw|lit|id)\(|CompiledQuery\.raw\(|\bselect(<[^(]*>)?\([^,()]+,\s*`[^`]*\$\{|\bquery(<[^(]*>)?\(\s*(`[^`]*\$\{|'[^']*' \+)/g

/** The places that do it, with how often and what these texts are; a further one needs a reason of its own. */
const KNOWN: Record<string, [times: number, what: string]> = {
  'audit/seal.ts': [5, 'lists of columns and times as text, constants of its own'],
  'audit/verify.ts': [3, 'names and a size of its own for reading in parts'],
  'database/client/connection.ts': [1, 'statements that callers hold as constants'],
  'database/queries/devices/device-events.ts': [1, 'one constant statement'],
  'database/server/embedded.ts': [
    2,
    'the names of its two roles, and a password that it made of letters and digits',
  ],
  'database/client/page.ts': [3, 'a direction and its comparison by a flag, a type out of a closed list'],
}

it('is put together from texts only where these are of our own making', () => {
  const found: Record<string, number> = {}
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter(name => name.endsWith('.ts') && !name.endsWith('.test.ts'))) {
    const times = readFileSync(join(SOURCES, file), 'utf8').match(MADE_OF_TEXTS)?.length ?? 0
    if (times > 0) found[file] = times
  }
  expect(found).toEqual(Object.fromEntries(Object.entries(KNOWN).map(([file, [times]]) => [file, times])))
})
