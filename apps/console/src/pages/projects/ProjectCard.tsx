import type { ActionOutput } from '@muster/actions/client'
import { Link, useParams } from '@tanstack/react-router'
import { ShieldAlert } from 'lucide-react'
import { useActionState } from '../../api/queries.ts'
import { counted, formatCount } from '../../lib/app/format.ts'
import { useSeen } from '../../lib/app/use-seen.ts'
import { Badge } from '../../ui/app/Badge.tsx'
import { Card, CardFoot } from '../../ui/app/Card.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { Mark } from '../../ui/app/Mark.tsx'
import { Strip } from '../../ui/Strip.tsx'
import { summaryInput, summarySentence } from './summary.ts'

type ProjectCardProps = {
  projectId: string
  name: string
  /** Loads the summary even while the card is outside of the viewport. The totals of `ProjectStats` need all summaries. */
  isShownAlways: boolean
}

/** A card with a project's name, id and device counts. */
export function ProjectCard({ projectId, name, isShownAlways }: ProjectCardProps) {
  const { organization } = useParams({ from: '/authenticated/org_{$organization}' })
  const { ref, isSeen } = useSeen<HTMLLIElement>()
  const { data } = useActionState('projects_GetSummary', summaryInput(projectId), {
    enabled: isSeen || isShownAlways,
  })
  return (
    <Card
      ref={ref}
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
            className="badge-link"
          >
            <Badge tone="warn" icon={ShieldAlert}>
              {formatCount(data.pendingCount)} pending
            </Badge>
          </Link>
        )
      }
      id={<Id id={projectId} what="project id" />}
    >
      {data && (
        <>
          <Strip bins={data.bins} label={summarySentence(data)} />
          <Counts {...data} />
        </>
      )}
    </Card>
  )
}

function Counts({
  projectId,
  deviceCount,
  connectedCount,
  warningCount = 0,
  errorCount = 0,
}: ActionOutput<'projects_GetSummary'>) {
  const { organization } = useParams({ from: '/authenticated/org_{$organization}' })
  const disconnected = deviceCount - connectedCount
  const list = {
    to: '/org_{$organization}/projects/$projectId/devices',
    params: { organization, projectId },
  } as const
  return (
    <CardFoot end={counted(deviceCount, 'device')}>
      {deviceCount === 0 && 'No devices yet'}
      {connectedCount > 0 && <Mark state="on">{formatCount(connectedCount)} connected</Mark>}
      {disconnected > 0 && <Mark state="off">{formatCount(disconnected)} disconnected</Mark>}
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
    </CardFoot>
  )
}
