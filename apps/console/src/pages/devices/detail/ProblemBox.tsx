import { Link } from '@tanstack/react-router'
import { CircleCheck, OctagonAlert, TriangleAlert } from 'lucide-react'
import { Fragment } from 'react'
import { formatCount } from '../../../lib/app/format.ts'
import { hourAndMinute } from '../../../lib/app/local-time.ts'
import { durationInWords } from '../../../lib/app/relative-time.ts'
import { Moment } from '../../../ui/lazy/Moment.tsx'
import { NeededSpace } from './problem/NeededSpace.tsx'
import { aroundStep, NextSteps, StepLink } from './problem/NextSteps.tsx'
import styles from './problem/problem.module.css'
import type { ShownProblem } from './problem/use-shown-problems.ts'
import { MAX_SHARED, type Problem } from './problems.ts'
import { useBeginning } from './use-problems.ts'

type ProblemBoxProps = { deviceId: string; problems: readonly ShownProblem[] }

/**
 * Box with the problems of a device. The gravest problem is shown with its times and with links to the next steps. Each other
 * problem is a row. A problem that has ended keeps its place and shows when it ended. Renders nothing without a problem.
 */
export function ProblemBox({ deviceId, problems }: ProblemBoxProps) {
  const [worst, ...others] = problems
  if (!worst) return null
  const update = problems.find(({ kind }) => kind === 'update')
  return (
    <section className={`sheet bleed ${styles.box}`} data-tone={toneOf(worst)} aria-labelledby="problem">
      <div className={styles.main}>
        <ProblemIcon problem={worst} />
        <div className="grow">
          <h2 id="problem">
            <Sentence deviceId={deviceId} problem={worst} />
          </h2>
          <p>
            <Ended problem={worst} />
            <Period deviceId={deviceId} problem={worst} update={undefined} />
            <Advice problem={worst} />
            {worst.update && <NeededSpace deviceId={deviceId} update={worst.update} />}
            {worst.update?.currentVersion !== undefined && (
              <>
                {' '}
                The device still runs <bdi>{worst.update.currentVersion.slice(0, LONGEST_VERSION)}</bdi>.
              </>
            )}
          </p>
        </div>
      </div>
      <NextSteps deviceId={deviceId} problem={worst} />
      {others.map(problem => (
        <div key={problem.kind} className={`touch-area row ${styles.other}`}>
          <ProblemIcon problem={problem} />
          <span>
            <b>
              <Sentence deviceId={deviceId} problem={problem} />
            </b>{' '}
            <Ended problem={problem} />
            <Period deviceId={deviceId} problem={problem} update={update} />
            <Advice problem={problem} />
          </span>
          <StepLink step={aroundStep(problem)}>{aroundStep(problem).label}</StepLink>
        </div>
      ))}
    </section>
  )
}

const LONGEST_VERSION = 100

/** Tone of the box; none after the end of the problem, which then loses its colour and keeps its place until it disappears. */
function toneOf({ tone, endedAtMs }: ShownProblem): ShownProblem['tone'] | undefined {
  return endedAtMs === undefined ? tone : undefined
}

function ProblemIcon({ problem: { tone, endedAtMs } }: { problem: ShownProblem }) {
  const isOver = endedAtMs !== undefined
  const Icon = isOver ? CircleCheck : tone === 'bad' ? OctagonAlert : TriangleAlert
  return (
    <div className={styles.icon} data-tone={isOver ? 'ok' : tone}>
      <Icon className="icon" aria-hidden />
    </div>
  )
}

/** The problem in words. For a health problem it contains the beginning, because `Period` shows only the last report of the health. */
function Sentence({ deviceId, problem }: { deviceId: string; problem: ShownProblem }) {
  const firstAt = useBeginning(deviceId, problem).at
  if (problem.kind !== 'health' || firstAt === undefined) return problem.sentence
  return (
    <>
      {problem.sentence} since <Moment at={firstAt} isSince />
    </>
  )
}

/** The end of a problem, announced to screen readers. */
function Ended({ problem: { endedAtMs } }: { problem: ShownProblem }) {
  return <span role="status">{endedAtMs !== undefined && `Ended at ${hourAndMinute(endedAtMs)}. `}</span>
}

/** The other devices of a shared certificate, and what to do about a problem. */
function Advice({ problem: { sharedWith, advice } }: { problem: Problem }) {
  if (advice === undefined) return null
  return (
    <>
      {' '}
      {sharedWith && (
        <>
          {sharedWith.devices.map(({ deviceId, name, hostname, status }, index) => (
            <Fragment key={deviceId}>
              {index > 0 && ', '}
              <Link
                from="/org_{$organization}/projects/$projectId"
                to="./devices/$deviceId"
                params={{ deviceId }}
              >
                <bdi>{name ?? hostname ?? deviceId}</bdi>
              </Link>
              {status === 'Pending' && ' (waits for approval)'}
            </Fragment>
          ))}
          {sharedWith.count > sharedWith.devices.length &&
            ` and ${sharedWith.count >= MAX_SHARED ? 'others' : `${formatCount(sharedWith.count - sharedWith.devices.length)} more`}`}
          .{' '}
        </>
      )}
      {advice}
    </>
  )
}

/** A health problem that began within this time, in milliseconds, after a failed update is shown with the time since that update. */
const SOON_AFTER_MS = 3_600_000

type PeriodProps = { deviceId: string; problem: Problem; update: Problem | undefined }

/**
 * First and last time of a problem. The first time is omitted while it loads, and if the problem began before the oldest value
 * that was loaded.
 */
function Period({ deviceId, problem, update }: PeriodProps) {
  const { lastAt } = problem
  const firstAt = useBeginning(deviceId, problem).at
  if (problem.kind === 'certificate') return null
  if (problem.kind === 'offline')
    return (
      <>
        Last connected <Moment at={lastAt} />.
      </>
    )
  if (problem.kind === 'expiry')
    return (
      <>
        Valid until <Moment at={lastAt} />.
      </>
    )
  if (problem.kind === 'clock')
    return (
      <>
        Seen in its event of <Moment at={lastAt} />.
      </>
    )
  if (problem.kind === 'health') {
    const afterMs = Date.parse(firstAt ?? '') - Date.parse(update?.lastAt ?? '')
    if (afterMs >= 0 && afterMs < SOON_AFTER_MS)
      return `Reported by the device, ${durationInWords(afterMs / 1000)} after the last failed update.`
    return (
      <>
        Last reported by the device <Moment at={lastAt} />.
      </>
    )
  }
  const from = problem.address !== undefined && (
    <>
      {' '}
      from <span className="mono">{problem.address}</span>
    </>
  )
  return firstAt === undefined || firstAt === lastAt ? (
    <>
      Last <Moment at={lastAt} />
      {from}.
    </>
  ) : (
    <>
      First <Moment at={firstAt} />, last <Moment at={lastAt} />
      {from}.
    </>
  )
}
