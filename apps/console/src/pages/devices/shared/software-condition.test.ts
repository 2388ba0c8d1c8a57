import { expect, it } from 'vitest'
import { parseSoftware, type SoftwareCondition, writeSoftware } from './software-condition.ts'

it('survives the address, whatever a device reports', () => {
  const condition: SoftwareCondition = { reports: 'a"b\\ ü 한국', is: 'stuck' }
  expect(parseSoftware(writeSoftware(condition))).toEqual(condition)
})

it('is left out if the address holds anything else', () => {
  for (const text of [undefined, '', '{', 'null', '7', '[]', '{"versionId":1}', '{"is":{"a":"b"}}'])
    expect(parseSoftware(text)).toBeUndefined()
})
