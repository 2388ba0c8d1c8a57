import { expect, it } from 'vitest'
import { draftsOf, draftsProblem, labelsOfDrafts, readDrafts, writeDrafts } from './label-drafts.ts'

it('reads typed labels without empty rows and spaces around them', () => {
  const drafts = [...draftsOf({ site: 'pier4', ring: 'canary' }), { key: '', value: ' ' }]
  expect(readDrafts(writeDrafts(drafts))).toEqual(drafts)
  expect(labelsOfDrafts([...drafts, { key: ' crane ', value: ' sts-09 ' }])).toEqual({
    ring: 'canary',
    site: 'pier4',
    crane: 'sts-09',
  })
  expect(draftsProblem(drafts)).toBeUndefined()
})

it.each([
  [[{ key: 'Site', value: 'pier4' }], 'Site: Small letters, digits, dot, dash, underscore, up to 63.'],
  [[{ key: '', value: 'pier4' }], 'Label 1: Small letters, digits, dot, dash, underscore, up to 63.'],
  [[{ key: 'site', value: ' ' }], 'site: A label needs a value.'],
  [[{ key: 'site', value: 'x'.repeat(256) }], 'site: A value has at most 255 characters.'],
  [
    [
      { key: 'site', value: 'a' },
      { key: ' site', value: 'b' },
    ],
    'site: This label is here twice.',
  ],
  [Array.from({ length: 65 }, (_, index) => ({ key: `k${index}`, value: 'v' })), '64 labels are the most.'],
])('names what is wrong with typed labels: %#', (drafts, problem) => {
  expect(draftsProblem(drafts)).toBe(problem)
})
