// This file is only compiled. The line below each `ts-expect-error` comment must fail to compile; all other lines must compile.
import { instanceJobs } from '../job-words.ts'
import type { JobWords } from './words.ts'

const { instance_SampleSize: words, ...others } = instanceJobs
// @ts-expect-error `instance_SampleSize` has no words
const missing: JobWords<'instance'> = others
// @ts-expect-error there is no such job
const unknown: JobWords<'instance'> = { ...instanceJobs, instance_SampleColour: words }

export type { missing, unknown }
