import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Job } from './job.ts'
import { comingTime, errorSentence, failureSentence, intervalInWords, jobName } from './job-sentences.ts'
import { JOB_WORDS } from './job-words.ts'

const OPERATING = join(import.meta.dirname, '../../../../../../docs/operating.md')

const NOW_MS = new Date(2026, 10, 23, 9, 12).getTime()

const job = (fields: Partial<Job>): Job => ({
  jobId: 'job_20261123-0810-8mQ2kXw7' as Job['jobId'],
  status: 'Failed',
  job: 'repositories_SweepBlobs',
  queued: false,
  attempts: 2,
  retryDelay: 30,
  timeout: 1500,
  createdAt: new Date(NOW_MS).toISOString(),
  isRepeatable: true,
  ...fields,
})

it('has words for every kind of job in docs/operating.md', () => {
  const table = readFileSync(OPERATING, 'utf8').split('| job | when |')[1]!.split('\n\n')[0]!
  const kinds = [...table.matchAll(/`([a-z]+_[A-Z]\w+)`/g)].map(([, name]) => name!)
  expect(kinds.length).toBeGreaterThan(15)
  expect(Object.keys(JOB_WORDS).sort()).toEqual([...new Set(kinds)].sort())
})

it('says the last error of a job as a sentence', () => {
  expect(errorSentence(job({}))).toBeUndefined()
  expect(errorSentence(job({ lastError: 'it answers 503 Slow Down' }))).toBe('It answers 503 Slow Down')
  expect(errorSentence(job({ status: 'Expired', lastError: 'job timed out' }))).toBe(
    'Did not end within its 25 min: it took too long, or its node stopped',
  )
  const nextAttemptAt = new Date(Date.now() + 60_000).toISOString()
  expect(errorSentence(job({ status: 'Pending', lastError: 'no answer', nextAttemptAt }))).toMatch(
    /^Next attempt at \d\d:\d\d:\d\d: No answer$/,
  )
  expect(errorSentence(job({ status: 'Pending', lastError: 'no answer' }))).toBe(
    'Being tried again. Last attempt: No answer',
  )
})

it('says what does not happen since when', () => {
  const since = new Date(2026, 10, 23, 4, 10).toISOString()
  expect(failureSentence('repositories_SweepBlobs', since, NOW_MS)).toBe(
    'Unused files cannot be removed since 04:10.',
  )
  expect(failureSentence('future_Job', undefined, NOW_MS)).toBe('A job of the kind future_Job failed.')
  expect(failureSentence('constructor', undefined, NOW_MS)).toBe('A job of the kind constructor failed.')
  expect(jobName('constructor')).toBe('constructor')
})

it('says intervals and coming times in words', () => {
  expect([undefined, 300, 600, 3600, 7200, 86_400].map(intervalInWords)).toEqual([
    'when needed',
    'every 5 min',
    'every 10 min',
    'hourly',
    'every 2 h',
    'daily',
  ])
  expect(comingTime(NOW_MS + 60_000, NOW_MS)).toBe('09:13:00')
  expect(comingTime(NOW_MS + 86_400_000, NOW_MS)).toBe('tomorrow, 09:12:00')
})
