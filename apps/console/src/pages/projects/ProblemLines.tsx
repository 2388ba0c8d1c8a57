import { Link, useParams } from '@tanstack/react-router'
import { OctagonAlert, ShieldAlert, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { counted } from '../../lib/app/format.ts'
import { CountAge } from '../../ui/app/CountAge.tsx'
import type { DeviceSearch } from '../devices/shared/device-search.ts'
import styles from './ProblemLines.module.css'
import type { Summary } from './summary.ts'

/** Maximum number of problems on a card. */
const MOST = 2

/** The most important problems of a project, each with a link to its devices. Empty if there are none. */
export function ProblemLines(summary: Summary) {
  const { updateFailure, errorCount = 0, warningCount = 0, pendingCount } = summary
  const lines = [
    updateFailure && <FailedUpdates key="update" projectId={summary.projectId} {...updateFailure} />,
    errorCount > 0 && (
      <Line key="error" tone="bad">
        <Devices projectId={summary.projectId} count={errorCount} search={{ show: 'error' }} />{' '}
        {errorCount === 1 ? 'reports' : 'report'} an error
      </Line>
    ),
    warningCount > 0 && (
      <Line key="warning" tone="warn">
        <Devices projectId={summary.projectId} count={warningCount} search={{ show: 'warning' }} />{' '}
        {warningCount === 1 ? 'reports' : 'report'} a warning
      </Line>
    ),
    pendingCount > 0 && (
      <Line key="pending" tone="pending">
        <Devices projectId={summary.projectId} count={pendingCount} search={{ show: 'pending' }} />{' '}
        {pendingCount === 1 ? 'waits' : 'wait'} for approval
      </Line>
    ),
  ].filter(Boolean)
  if (lines.length === 0) return null
  return (
    <ul className={`touch-area ${styles.problems}`} data-problems>
      {lines.slice(0, MOST)}
    </ul>
  )
}

type FailedUpdatesProps = { projectId: string } & NonNullable<Summary['updateFailure']>

function FailedUpdates({ projectId, targetVersion, error, deviceCount, countedAt }: FailedUpdatesProps) {
  return (
    <Line tone="bad">
      Update{targetVersion && ` to ${targetVersion}`} failed on{' '}
      <Devices
        projectId={projectId}
        count={deviceCount}
        search={{ target: `=${targetVersion ?? ''}`, ...(error !== undefined && { error }) }}
      />
      {error && `: ${error}`}
      {countedAt !== undefined && <CountAge atMs={Date.parse(countedAt)} before=", " />}
    </Line>
  )
}

type DevicesProps = { projectId: string; count: number; search: DeviceSearch }

function Devices({ projectId, count, search }: DevicesProps) {
  const { organization } = useParams({ from: '/authenticated/org_{$organization}' })
  return (
    <Link
      to="/org_{$organization}/projects/$projectId/devices"
      params={{ organization, projectId }}
      search={search}
    >
      {counted(count, 'device')}
    </Link>
  )
}

const ICON = { bad: OctagonAlert, warn: TriangleAlert, pending: ShieldAlert }

function Line({ tone, children }: { tone: keyof typeof ICON; children: ReactNode }) {
  const Icon = ICON[tone]
  return (
    <li data-tone={tone}>
      <Icon className="icon small-icon" aria-hidden />
      <span>{children}</span>
    </li>
  )
}
