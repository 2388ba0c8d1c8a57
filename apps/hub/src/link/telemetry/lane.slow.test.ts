import { expect, inject, it } from 'vitest'
import { expectSameAsPipeline } from './testing/lane-against-pipeline.ts'

it('the lane accepts, refuses and stores the same as the pipeline, for 100,000 inputs', async () => {
  expect(await expectSameAsPipeline(100_000, inject('fuzzSeed') + 1)).toBeGreaterThan(20_000)
}, 600_000)
