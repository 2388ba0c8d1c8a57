import { expect, it } from 'vitest'
import type { Limit } from '../limits/limits.ts'
import { type Feature, registerFeatures } from './feature.ts'

const limit: Limit = {
  scope: 'project',
  unit: 'notes',
  default: 10,
  max: 100,
  meaning: 'Notes of a project.',
}

it.each<[string, Feature]>([
  ['limits: project-notes', { limits: { 'project-notes': limit } }],
  ['events: notes_Changed', { events: { notes_Changed: { ids: [] } } }],
  ['onRestore: bulkActionIds', { onRestore: { bulkActionIds: async () => [] } }],
])('names both files that declare %s', (name, feature) => {
  expect(() => registerFeatures({ notes: feature, tags: feature })).toThrow(
    `tags/feature.ts: ${name} is declared in notes/feature.ts too`,
  )
})

it('refuses a limit that the platform declares', () => {
  expect(() => registerFeatures({ notes: { limits: { 'person-links': limit } } })).toThrow(
    'notes/feature.ts: limits: person-links is declared in platform/limits/limits.ts too',
  )
})
