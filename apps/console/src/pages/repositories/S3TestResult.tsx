import type { ActionOutput } from '@muster/actions/client'
import { Check, CircleAlert, CircleCheck, X } from 'lucide-react'
import { formatMs } from '../../lib/app/format.ts'
import { clockTime } from '../../lib/app/local-time.ts'
import styles from './S3TestResult.module.css'

type Test = ActionOutput<'repositories_TestS3Config'>

const STEPS: readonly Test['steps'][number]['step'][] = [
  'Reach the endpoint',
  'Sign in',
  'Write an object',
  'Read it back',
  'Delete it',
]

type S3TestResultProps = {
  test: Test
  /** Time of the answer, in milliseconds since 1970. */
  endedAt: number
}

/** Result of the test of an object store: its steps up to the first that failed, and what to change. */
export function S3TestResult({ test, endedAt }: S3TestResultProps) {
  const { steps } = test
  const hasPassed = test.result === 'Passed'
  const advice = test.result === 'Failed' ? test.advice : undefined
  const totalMs = steps.reduce<number | undefined>(
    (sum, { durationMs }) => (sum === undefined || durationMs === undefined ? undefined : sum + durationMs),
    0,
  )
  const Icon = hasPassed ? CircleCheck : CircleAlert
  return (
    <section
      className={`${styles.result} ${hasPassed ? '' : styles.failed}`}
      aria-label="Result of the test"
      role="status"
    >
      <header>
        <Icon className="icon" aria-hidden />
        <b>
          {hasPassed
            ? `The test passed: all ${STEPS.length} steps.`
            : `The test failed at step ${steps.length} of ${STEPS.length}.`}
        </b>
        <span className="tabular">
          {clockTime(endedAt)}
          {totalMs !== undefined && `, ${formatMs(totalMs)}`}
        </span>
      </header>
      <ol>
        {STEPS.map((step, index) => {
          const done = steps[index]
          if (!done)
            return (
              <li key={step} data-state="skipped">
                <span />
                <span>{step}</span>
                <span className={styles.detail}>Not tried</span>
                <span className="tabular">–</span>
              </li>
            )
          const Mark = done.isPassed ? Check : X
          return (
            <li key={step} data-state={done.isPassed ? 'passed' : 'failed'}>
              <Mark className="icon" aria-hidden />
              <span>
                {step}
                <span className="visually-hidden">{done.isPassed ? ', passed' : ', failed'}</span>
              </span>
              <span className={styles.detail}>{done.detail}</span>
              <span className="tabular">{done.durationMs === undefined ? '' : `${done.durationMs} ms`}</span>
            </li>
          )
        })}
      </ol>
      {!hasPassed && <p className={styles.advice}>{advice} Nothing was saved.</p>}
    </section>
  )
}
