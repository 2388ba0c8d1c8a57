import { ArrowRight, OctagonAlert, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { Time } from '../../../ui/app/Time.tsx'
import { SameError } from '../SameError.tsx'
import type { Problem } from './problems.ts'
import { useBeginning } from './use-problems.ts'
import { foundProperties, readSystemInfo, SYSTEM_INFO_NAMES } from './well-known.ts'

/** A disk with a smaller share of free space (0.1 is 10 %) is named in the problem box. */
const LOW_SHARE = 0.1

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
            {worst.kind === 'update' && <SameError deviceId={deviceId} />}
          </p>
        </div>
      </div>
      <ul className="next" aria-label="Next steps">
        {stepsOf(worst).map(({ href, label, why }) => (
          <li key={href}>
            <a href={href}>
              {label}
              <ArrowRight className="i i-14" aria-hidden />
            </a>
            <p>{why}</p>
          </li>
        ))}
      </ul>
      {others.map(problem => (
        <div key={problem.kind} className="pmore">
          <ProblemIcon tone={problem.tone} />
          <span>
            <b>{problem.sentence}</b> <Period deviceId={deviceId} problem={problem} />
          </span>
          <a href={stepsOf(problem)[0]!.href}>{stepsOf(problem)[0]!.label}</a>
        </div>
      ))}
    </section>
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

/** Parts of the page that explain a problem, the most useful first. */
function stepsOf({ kind }: Problem): { href: string; label: string; why: string }[] {
  const events = { href: '#ev', label: 'See what it reported', why: 'The latest events of this device.' }
  if (kind === 'offline')
    return [
      { href: '#conn', label: 'See its connections', why: 'How long each lasted, and why it ended.' },
      events,
    ]
  if (kind === 'refused')
    return [
      {
        href: '#certs',
        label: 'Check its certificates',
        why: 'Only a device with an accepted one connects.',
      },
      { href: '#conn', label: 'See its connections', why: 'When it was connected last, and for how long.' },
    ]
  if (kind === 'update')
    return [
      events,
      { href: '#sys', label: 'See the disks', why: 'Free space and versions that the device reports.' },
      { href: '#props', label: 'See the update status', why: 'The property as the device wrote it.' },
    ]
  return [
    events,
    { href: '#sys', label: 'See the system', why: 'Versions, memory and disks of this device.' },
  ]
}
