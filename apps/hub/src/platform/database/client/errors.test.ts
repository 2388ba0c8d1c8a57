import { expect, it } from 'vitest'
import { sqlState } from './errors.ts'

it.each(['23505', '40P01', '53100', 'P0001', 'XX000', 'HV00A', 'F0000'])('%s is a SQLSTATE', code => {
  expect(sqlState(Object.assign(new Error(), { code }))).toBe(code)
})

it.each(['EPIPE', 'EBUSY', 'ENOENT', '2350', 'abcde', 23505, undefined])('%s is no SQLSTATE', code => {
  expect(sqlState(Object.assign(new Error(), { code }))).toBeUndefined()
})
