import { ActionError } from '@muster/actions/client'
import { expect, it } from 'vitest'
import { fieldRefusals } from './field-refusals.ts'

const FIELDS = ['email', 'password']
const refusal = (...paths: string[]) =>
  new ActionError('Invalid', 'The input is not valid.', {
    issues: paths.map(path => ({ path, message: 'must have at most 64 characters' })),
  })

it('C10: maps issues of the hub to the form fields that they concern', () => {
  expect(fieldRefusals(refusal('password', 'email'), FIELDS)).toEqual([
    ['password', 'Must have at most 64 characters.'],
    ['email', 'Must have at most 64 characters.'],
  ])
})

it.each([
  ['is about a field that the form lacks', refusal('password', 'currentPassword')],
  ['names no field', new ActionError('Invalid', 'No.')],
  ['is not an answer of the hub', new TypeError('fetch failed')],
])('C10: leaves a failure to the whole form when it %s', (_what, error) => {
  expect(fieldRefusals(error, FIELDS)).toBeUndefined()
})
