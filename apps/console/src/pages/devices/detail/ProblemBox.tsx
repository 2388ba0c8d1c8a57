import type { ActionOutput } from '@muster/actions/client'
import { useQuery } from '@tanstack/react-query'
import { ArrowRight, OctagonAlert, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { actionQuery, useActionState } from '../../../api/queries.ts'
import { Time } from '../../../ui/app/Time.tsx'
import { beginningOf, type Problem, problemsOf } from './problems.ts'
import { foundProperties, HEALTH, OTA_STATUS, readSystemInfo, SYSTEM_INFO_NAMES } from './well-known.ts'

/** Number of past values that are read to find the beginning of a problem. */
const PAST_VALUES = 100
/** A disk with a smaller share of free space (0.1 is 10 %) is named in the problem box. */
const LOW_SHARE = 0.1

type ProblemBoxProps = { deviceId: string; details: ActionOutput<'devices_GetDetails'> }

/**
 * Box with the problems of a device. The gravest problem is shown with its times and with links to the next steps. Each other
 * problem is a row. Renders nothing without a problem, or until the properties that report problems have loaded.
 */
export function ProblemBox({ deviceId, details }: ProblemBoxProps) {
  const ota = useActionState('devices_GetProperty', { deviceId, name: OTA_STATUS }).data
  const health = useActionState('devices_GetProperty', { deviceId, name: HEALTH }).data
  if (!ota || !health) return null
  const [worst, ...others] = problemsOf(details, foundProperties([ota, health]))
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
  const { property, lastAt } = problem
  const past = useQuery({
    ...actionQuery('devices_QueryPropertyHistory', { deviceId, name: property ?? '', limit: PAST_VALUES }),
    enabled: property !== undefined,
  }).data
  const firstAt = past && beginningOf(problem, past.changes, past.nextCursor === undefined)
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
