import type { ActionOutput } from '@muster/actions/client'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Eye, Lock, Trash2 } from 'lucide-react'
import { useActionState, useCommand } from '../../api/queries.ts'
import { counted } from '../../lib/app/format.ts'
import { lookUp } from '../../lib/app/look-up.ts'
import { MissingStamp } from '../../ui/app/LiveStamp.tsx'
import { Page, PageHead } from '../../ui/app/Page.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { Settled } from '../../ui/app/Settled.tsx'
import { toast } from '../../ui/app/toast.ts'
import { DangerLine, DangerZone } from '../../ui/lazy/DangerZone.tsx'
import { SectionBoundary } from '../../ui/lazy/SectionBoundary.tsx'
import { SheetSkeleton } from '../../ui/lazy/SheetSkeleton.tsx'
import { RepositoryNamesForm } from './RepositoryNamesForm.tsx'
import { S3Form } from './S3Form.tsx'
import type { Visibility } from './VisibilityBadge.tsx'

const route = getRouteApi('/authenticated/org_{$organization}/repositories/$repositoryId/settings')

/** Settings of a repository: asset storage, names, visibility and deletion. */
export function RepositorySettingsPage() {
  const { organization, repositoryId } = route.useParams()
  const navigate = useNavigate()
  const { data } = useActionState('repositories_GetDetails', { repositoryId })
  const remove = useCommand('repositories_Delete', {
    deletes: input => input.repositoryId,
    invalidates: ['organizations_QueryRepositories', 'projects_QueryLinkedRepositories'],
    onSuccess: () => navigate({ to: '/org_{$organization}/repositories/', params: { organization } }),
  })
  return (
    <Page width="settings">
      <PageHead title="Settings">
        <MissingStamp />
      </PageHead>
      <Settled
        label="Loading settings"
        skeleton={
          <div className="stack">
            <SheetSkeleton heightPx={420} />
            <SheetSkeleton heightPx={220} />
            <SheetSkeleton heightPx={210} />
          </div>
        }
      >
        <div className="stack">
          <Section title="S3 Configuration" padded={false}>
            <SectionBoundary what="the S3 configuration">
              <S3Form repositoryId={repositoryId} />
            </SectionBoundary>
          </Section>
          {data && <RepositoryNamesForm repository={data} />}
          <DangerZone>
            {data && <VisibilityLine repositoryId={repositoryId} visibility={data.visibility} />}
            <DangerLine
              name="Delete Repository"
              consequence={`Removes the repository with its ${data ? contentOf(data) : 'packages, versions and assets'} for everyone; devices can no longer download them. This cannot be undone.`}
              icon={Trash2}
              busyLabel="Deleting…"
              question="Are you sure you want to delete this repository?"
              act={async () => {
                await remove.mutateAsync({ repositoryId })
                toast(`Repository ${data?.name ?? repositoryId} deleted.`)
              }}
              failure="Could not delete the repository"
            />
          </DangerZone>
        </div>
      </Settled>
    </Page>
  )
}

function contentOf({
  packageCount,
  versionCount,
  assetCount,
}: ActionOutput<'repositories_GetDetails'>): string {
  return `${counted(packageCount, 'package')}, ${counted(versionCount, 'version')} and ${counted(assetCount, 'asset')}`
}

const CONSEQUENCE: Record<Visibility, string> = {
  Private: 'Now private: only members and devices of linked projects read it.',
  Public: 'Now public: anybody reads it and downloads from it, without signing in.',
}

function VisibilityLine({ repositoryId, visibility }: { repositoryId: string; visibility: Visibility }) {
  const change = useCommand('repositories_SetVisibility', { invalidates: ['repositories_GetDetails'] })
  const other = visibility === 'Private' ? 'Public' : 'Private'
  return (
    <DangerLine
      name="Change Visibility"
      consequence={lookUp(CONSEQUENCE, visibility, `Now ${visibility}.`)}
      icon={other === 'Public' ? Eye : Lock}
      button={`Make ${other}`}
      busyLabel="Changing…"
      question="Are you sure you want to change the visibility?"
      act={async () => {
        await change.mutateAsync({ repositoryId, visibility: other })
        toast(`The repository is ${other.toLowerCase()} now.`)
      }}
      failure="Could not change the visibility"
    />
  )
}
