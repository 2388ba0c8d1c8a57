import { expect, inject, it } from 'vitest'
import { expectSameAsPipeline } from './testing/lane-against-pipeline.ts'

const INPUTS = 5_000

it('the lane accepts, refuses and stores the same as the pipeline', async () => {
  const taken = await expectSameAsPipeline(INPUTS, inject('fuzzSeed'))
  process.stdout.write(`the lane took ${taken} of ${INPUTS} inputs\n`)
  // The others are refused, or written in a rare way.
  expect(taken).toBeGreaterThan(INPUTS / 5)
})
