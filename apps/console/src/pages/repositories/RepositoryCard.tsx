import { Link, useParams } from '@tanstack/react-router'
import { useActionState } from '../../api/queries.ts'
import { counted } from '../../lib/app/format.ts'
import { useSeen } from '../../lib/app/use-seen.ts'
import { Card, CardFoot } from '../../ui/app/Card.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { VisibilityBadge } from './VisibilityBadge.tsx'

/** A card with a repository's name, id, visibility and size. */
export function RepositoryCard({ repositoryId, name }: { repositoryId: string; name: string }) {
  const { organization } = useParams({ from: '/authenticated/org_{$organization}' })
  const { ref, isSeen } = useSeen<HTMLLIElement>()
  const { data } = useActionState('repositories_GetDetails', { repositoryId }, { enabled: isSeen })
  return (
    <Card
      ref={ref}
      title={
        <Link to="/org_{$organization}/repositories/$repositoryId" params={{ organization, repositoryId }}>
          {name}
        </Link>
      }
      badge={data && <VisibilityBadge visibility={data.visibility} />}
      id={<Id id={repositoryId} what="repository id" />}
    >
      {data && (
        <CardFoot end={counted(data.assetCount, 'asset')}>
          <span>{counted(data.packageCount, 'package')}</span>
        </CardFoot>
      )}
    </Card>
  )
}
