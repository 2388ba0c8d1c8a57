import { Link } from '@tanstack/react-router'
import { ArrowRight, OctagonAlert, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { hourAndMinute } from '../../../lib/app/local-time.ts'
import { Time } from '../../../ui/app/Time.tsx'
import { SameError } from '../SameError.tsx'
import type { Problem } from './problems.ts'
import { SYSTEM_INFO_NAMES } from './property-names.ts'
import { hourAround } from './timeline/time-range.ts'
import { useBeginning } from './use-problems.ts'
import { foundProperties, LOW_SHARE, readSystemInfo } from './well-known.ts'

/**
 * Box with the problems of a device. The gravest problem is shown with its times and with links to the next steps. Each other
 * problem is a row. Renders nothing without a problem.
 */
export function ProblemBox({ deviceId, problems }: { deviceId: string; problems: readonly Problem[] }) {
  const [worst, ...others] = problems
  if (!worst) return null
  return (
    <section
      className={worst.tone === 'bad' ? 'sheet problem' : 'sheet problem warn'}
      aria-labelledby="problem"
    >
      <div className="pmain">
        <ProblemIcon tone={worst.tone} />
        <div className="grow">
          <h2 id="problem">{worst.sentence}</h2>
          <p>
            <Period deviceId={deviceId} problem={worst} />
            {worst.kind === 'update' && <LowDisks deviceId={deviceId} />}
            {worst.update?.currentVersion !== undefined && (
              <>
                {' '}
                The device still runs <bdi>{worst.update.currentVersion.slice(0, LONGEST_VERSION)}</bdi>.
              </>
            )}
          </p>
        </div>
      </div>
      <ul className="next" aria-label="Next steps">
        {worst.kind === 'update' && <SameError deviceId={deviceId} />}
        {stepsOf(worst).map(step => (
          <li key={step.label}>
            <StepLink step={step}>
              {step.label}
              <ArrowRight className="i i-14" aria-hidden />
            </StepLink>
            <p>{step.why}</p>
          </li>
        ))}
      </ul>
      {others.map(problem => (
        <div key={problem.kind} className="pmore">
          <ProblemIcon tone={problem.tone} />
          <span>
            <b>{problem.sentence}</b> <Period deviceId={deviceId} problem={problem} />
          </span>
          <StepLink step={around(problem)}>{around(problem).label}</StepLink>
        </div>
      ))}
    </section>
  )
}

/** Link of a next step: to a part of the page, or to the timeline around a time. */
function StepLink({ step: { target }, children }: { step: Step; children: ReactNode }) {
  if ('href' in target) return <a href={target.href}>{children}</a>
  return (
    <Link
      from="/org_{$organization}/projects/$projectId/devices/$deviceId"
      to="./timeline"
      search={hourAround(target.aroundMs)}
    >
      {children}
    </Link>
  )
}

function ProblemIcon({ tone }: { tone: Problem['tone'] }) {
  const Icon = tone === 'bad' ? OctagonAlert : TriangleAlert
  return (
    <div className={`pi ${tone}`}>
      <Icon className="i" aria-hidden />
    </div>
  )
}

/**
 * First and last time of a problem. The first time is omitted while it loads, and if the problem began before the oldest value
 * that was loaded.
 */
function Period({ deviceId, problem }: { deviceId: string; problem: Problem }) {
  const { lastAt } = problem
  const firstAt = useBeginning(deviceId, problem)
  if (problem.kind === 'offline')
    return (
      <>
        Last connected <Time at={lastAt} />.
      </>
    )
  if (problem.kind === 'health')
    return firstAt === undefined ? (
      <>
        Last reported <Time at={lastAt} />.
      </>
    ) : (
      <>
        Since <Time at={firstAt} />, last reported <Time at={lastAt} />.
      </>
    )
  return firstAt === undefined || firstAt === lastAt ? (
    <>
      Last <Time at={lastAt} />.
    </>
  ) : (
    <>
      First <Time at={firstAt} />, last <Time at={lastAt} />.
    </>
  )
}

/** Names the disks with little free space, which is a frequent reason for a failed update. */
function LowDisks({ deviceId }: { deviceId: string }): ReactNode {
  const current = useActionState('devices_GetProperty', { deviceId, name: SYSTEM_INFO_NAMES[0]! }).data
  const former = useActionState('devices_GetProperty', { deviceId, name: SYSTEM_INFO_NAMES[1]! }).data
  const info = readSystemInfo(foundProperties([current, former].flatMap(answer => answer ?? [])))
  if (!info || info === 'unreadable') return null
  return info.disks
    .filter(({ availableShare }) => availableShare !== undefined && availableShare < LOW_SHARE)
    .slice(0, 3)
    .map(({ name, mountPoint, availableShare }) => (
      <span key={`${name} ${mountPoint}`}>
        {' '}
        <span className="mono">{mountPoint ?? name}</span> has {Math.floor(availableShare! * 100)} % free.
      </span>
    ))
}

type Step = {
  label: string
  /** Description of the link's target. */
  why: string
  target: { href: string } | { aroundMs: number }
}

const LONGEST_VERSION = 100

/** Next steps for a problem, at most three, the most useful first. */
function stepsOf(problem: Problem): Step[] {
  const events: Step = {
    label: 'See what it reported',
    why: 'The latest events of this device.',
    target: { href: '#ev' },
  }
  const happened: Step = {
    ...around(problem),
    label: 'See what happened',
    why: 'Everything around the last time.',
  }
  switch (problem.kind) {
    case 'refused':
      return [
        {
          label: 'Check its certificates',
          why: 'Only a device with an accepted one connects.',
          target: { href: '#certs' },
        },
        {
          label: 'See its connections',
          why: 'When it was connected last, and for how long.',
          target: { href: '#conn' },
        },
      ]
    case 'offline':
      return [
        {
          label: 'See its connections',
          why: 'How long each lasted, and why it ended.',
          target: { href: '#conn' },
        },
        { ...happened, why: 'Everything around the end of its connection.' },
      ]
    case 'update':
      return [
        {
          label: 'See the disks',
          why: 'Free space and versions that the device reports.',
          target: { href: '#sys' },
        },
        happened,
      ]
    default:
      return [
        happened,
        events,
        {
          label: 'See the system',
          why: 'Versions, memory and disks of this device.',
          target: { href: '#sys' },
        },
      ]
  }
}

/** The timeline around the last time of a problem. */
function around({ lastAt }: Problem): Step {
  const aroundMs = Date.parse(lastAt)
  return { label: `Around ${hourAndMinute(aroundMs)}`, why: '', target: { aroundMs } }
}
