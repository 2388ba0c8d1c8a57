import { expect, it } from 'vitest'
import type { Route } from '../http/server.ts'
import type { Limit } from '../limits/limits.ts'
import { type Feature, registerFeatures } from './feature.ts'

const limit: Limit = {
  scope: 'project',
  unit: 'notes',
  default: 10,
  max: 100,
  meaning: 'Notes of a project.',
}

const route: Route = () => ({ handler: async () => ({}) })

it.each<[string, Feature]>([
  ['limits: project-notes', { limits: { 'project-notes': limit } }],
  ['events: notes_Changed', { events: { notes_Changed: { ids: [] } } }],
  ['onRestore: bulkActionIds', { onRestore: { bulkActionIds: async () => [] } }],
  ['services: bulkActions', { services: { bulkActions: () => undefined as never } }],
  ['routes: GET /notes/:noteId', { routes: { 'GET /notes/:noteId': route } }],
])('names both files that declare %s', (name, feature) => {
  expect(() => registerFeatures({ notes: feature, tags: feature })).toThrow(
    `tags/feature.ts: ${name} is declared in notes/feature.ts too`,
  )
})

it('takes paths that differ in the names of their parameters for one route', () => {
  const notes = { routes: { 'GET /notes/:noteId': route } }
  const tags = { routes: { 'GET /notes/:tagId': route } }
  expect(() => registerFeatures({ notes, tags })).toThrow(
    'tags/feature.ts: routes: GET /notes/:tagId is declared in notes/feature.ts too',
  )
  expect(() => registerFeatures({ notes, tags: { routes: { 'PUT /notes/:tagId': route } } })).not.toThrow()
})

it('refuses a limit that the platform declares', () => {
  expect(() => registerFeatures({ notes: { limits: { 'person-links': limit } } })).toThrow(
    'notes/feature.ts: limits: person-links is declared in platform/limits/limits.ts too',
  )
})
