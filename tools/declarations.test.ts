import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { auditEventsIn } from './audit-events.ts'
import { featureFiles } from './features.ts'

const featureOf = (name: string, parts = 'actions'): string =>
  `import * as ${parts} from './${parts}/index.ts'\nexport const ${name} = defineFeature({ ${parts} })\n`
const handler = "export const notes_Set = handler('notes_Set', async () => ({}))\n"
const job = "export const notes_Sweep = defineJob({\n  name: 'notes_Sweep',\n})\n"

it.each<[string, Record<string, string>, string]>([
  [
    'the same action',
    {
      'notes/feature.ts': featureOf('notes'),
      'notes/actions/Set.ts': handler,
      'tags/feature.ts': featureOf('tags'),
      'tags/actions/Set.ts': handler,
    },
    'tags/actions/Set.ts: notes_Set is declared in notes/actions/Set.ts too',
  ],
  [
    'the same job',
    {
      'notes/feature.ts': featureOf('notes', 'jobs'),
      'notes/jobs/Sweep.ts': job,
      'notes/jobs/SweepAgain.ts': job,
    },
    'notes/jobs/SweepAgain.ts: notes_Sweep is declared in notes/jobs/Sweep.ts too',
  ],
  [
    'an action under another name',
    {
      'notes/feature.ts': featureOf('notes'),
      'notes/actions/Set.ts': handler.replace('const notes_Set', 'const set'),
    },
    'notes/actions/Set.ts: expected one handler: ',
  ],
  [
    'jobs that the feature does not import',
    { 'notes/feature.ts': 'export const notes = defineFeature({})\n', 'notes/jobs/Sweep.ts': job },
    "notes/feature.ts: expected import * as jobs from './jobs/index.ts'",
  ],
  [
    'no feature',
    { 'notes/actions/Set.ts': handler },
    'notes/feature.ts: expected export const notes = defineFeature(…)',
  ],
])('refuses %s, with the file', async (_what, files, message) => {
  const folder = mkdtempSync(join(tmpdir(), 'muster-features-'))
  try {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    await expect(featureFiles(folder)).rejects.toThrow(message)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const eventsOf = (event: string): string => `const events = {\n${event}\n}\n`
const event = `  /** Written by \`notes_Set\`. */
  notes_Changed: event<{ deviceId: string }>({ ids: ['deviceId'] }),`

it.each<[string, Record<string, string>, string]>([
  [
    'an event of two features',
    { 'notes/feature.ts': eventsOf(event), 'tags/feature.ts': eventsOf(event) },
    'tags/feature.ts: notes_Changed is declared in notes/feature.ts too',
  ],
  [
    'an event without a docstring',
    { 'notes/feature.ts': eventsOf(event.split('\n')[1]!) },
    'notes/feature.ts: notes_Changed needs a docstring',
  ],
  [
    'an event without one of its ids',
    { 'notes/feature.ts': eventsOf(event.replace("'deviceId'", '')) },
    'notes/feature.ts: notes_Changed does not declare deviceId',
  ],
  [
    'an event that no code writes',
    { 'notes/feature.ts': eventsOf(event.replace('notes_Changed', 'notes_Removed')) },
    'notes/feature.ts: no code writes notes_Removed',
  ],
])('refuses %s, with the file', (_what, declarations, message) => {
  expect(() => auditEventsIn(declarations, ["emit('notes_Changed', { deviceId })"])).toThrow(message)
})
