import { Link, useParams } from '@tanstack/react-router'
import { Plus, ShieldAlert } from 'lucide-react'
import { useActionState } from '../../api/queries.ts'
import { counted, formatCount } from '../../lib/app/format.ts'
import { useSeen } from '../../lib/app/use-seen.ts'
import { Badge } from '../../ui/app/Badge.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { Mark } from '../../ui/app/Mark.tsx'
import { Card, CardFoot } from '../../ui/lazy/Card.tsx'
import { DayShape } from './DayShape.tsx'
import { ProblemLines } from './ProblemLines.tsx'
import styles from './ProjectCard.module.css'
import { type Summary, summaryInput } from './summary.ts'

type ProjectCardProps = {
  projectId: string
  name: string
  /** Loads the summary even while the card is outside of the viewport. The totals of `ProjectStats` need all summaries. */
  isShownAlways: boolean
}

/** A card with a project's name and id, its problems, its connected devices in the last 24 h and its counts. */
export function ProjectCard({ projectId, name, isShownAlways }: ProjectCardProps) {
  const { organization } = useParams({ from: '/authenticated/org_{$organization}' })
  const { ref, isSeen } = useSeen<HTMLLIElement>()
  const { data } = useActionState('projects_GetSummary', summaryInput(projectId), {
    enabled: isSeen || isShownAlways,
  })
  return (
    <Card
      ref={ref}
      isFlush={data !== undefined && data.deviceCount > 0}
      isSmall={data?.deviceCount === 0}
      title={
        <Link to="/org_{$organization}/projects/$projectId" params={{ organization, projectId }}>
          {name}
        </Link>
      }
      badge={
        data &&
        data.pendingCount > 0 && (
          <Link
            to="/org_{$organization}/projects/$projectId/devices/pending"
            params={{ organization, projectId }}
          >
            <Badge tone="warn" icon={ShieldAlert}>
              {formatCount(data.pendingCount)} pending
            </Badge>
          </Link>
        )
      }
      id={
        <>
          <Id id={projectId} what="project id" />
          {data && <span className={styles.total}>{counted(data.deviceCount, 'device')}</span>}
        </>
      }
    >
      {data && (
        <>
          <ProblemLines {...data} />
          {data.deviceCount > 0 && <DayShape {...data} />}
          <Counts {...data} />
        </>
      )}
    </Card>
  )
}

function Counts({ projectId, deviceCount, connectedCount, warningCount = 0, errorCount = 0 }: Summary) {
  const { organization } = useParams({ from: '/authenticated/org_{$organization}' })
  const disconnected = deviceCount - connectedCount
  const list = {
    to: '/org_{$organization}/projects/$projectId/devices',
    params: { organization, projectId },
  } as const
  if (deviceCount === 0)
    return (
      <CardFoot>
        <Link {...list} className="row">
          <Plus className="icon small-icon" aria-hidden />
          Connect a device
        </Link>
      </CardFoot>
    )
  return (
    <div className={`touch-area wrap ${styles.counts}`}>
      {connectedCount > 0 && (
        <Link {...list} search={{ status: 'connected' }}>
          <Mark state="on">{formatCount(connectedCount)} connected</Mark>
        </Link>
      )}
      {errorCount > 0 && (
        <Link {...list} search={{ show: 'error' }}>
          <Mark state="error">{counted(errorCount, 'error')}</Mark>
        </Link>
      )}
      {warningCount > 0 && (
        <Link {...list} search={{ show: 'warning' }}>
          <Mark state="warning">{counted(warningCount, 'warning')}</Mark>
        </Link>
      )}
      {disconnected > 0 && (
        <Link {...list} search={{ status: 'disconnected' }}>
          <Mark state="off">{formatCount(disconnected)} disconnected</Mark>
        </Link>
      )}
    </div>
  )
}
