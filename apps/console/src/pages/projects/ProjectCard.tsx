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
          <Badge tone="warn" icon={ShieldAlert}>
            {formatCount(data.pendingCount)} pending
          </Badge>
        )
      }
      id={<Id id={projectId} what="project id" />}
    >
      {data && (
        <>
          <Strip bins={data.bins} label={summarySentence(data)} />
          <Counts devices={data.deviceCount} connected={data.connectedCount} />
        </>
      )}
    </Card>
  )
}

function Counts({ devices, connected }: { devices: number; connected: number }) {
  const disconnected = devices - connected
  return (
    <CardFoot end={counted(devices, 'device')}>
      {devices === 0 && 'No devices yet'}
      {connected > 0 && <Mark state="on">{formatCount(connected)} connected</Mark>}
      {disconnected > 0 && <Mark state="off">{formatCount(disconnected)} disconnected</Mark>}
    </CardFoot>
  )
}
