import { expect, it } from 'vitest'
import { ageOf } from './age.ts'

const query = (dataUpdatedAt: number, errorUpdatedAt = 0) => ({ dataUpdatedAt, errorUpdatedAt })

it('has no age before the first answer', () => {
  expect(ageOf([])).toBeUndefined()
  expect(ageOf([query(0), query(0, 5)])).toBeUndefined()
})

it('is as old as the oldest answer', () => {
  expect(ageOf([query(30), query(10), query(20)])).toEqual({ updatedAt: 10, failedAt: 0 })
})

it('reports the latest failure of any query until that query succeeds again', () => {
  expect(ageOf([query(30), query(10, 40), query(20, 25)])).toEqual({ updatedAt: 10, failedAt: 40 })
  expect(ageOf([query(30), query(50, 40), query(20)])).toEqual({ updatedAt: 20, failedAt: 0 })
})

it('ignores queries that have never been answered', () => {
  expect(ageOf([query(30), query(0, 40)])).toEqual({ updatedAt: 30, failedAt: 0 })
})
