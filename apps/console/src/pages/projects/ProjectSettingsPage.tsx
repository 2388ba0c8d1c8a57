import type { ActionOutput } from '@muster/actions/client'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { lazy } from 'react'
import { useActionState, useCommand } from '../../api/queries.ts'
import { NameForm } from '../../form/NameForm.tsx'
import { counted } from '../../lib/app/format.ts'
import { loadCode } from '../../lib/load-code.ts'
import { organizationIdOf, useOrganizations } from '../../organization.ts'
import { MissingStamp } from '../../ui/app/LiveStamp.tsx'
import { Page, PageHead } from '../../ui/app/Page.tsx'
import { Section } from '../../ui/app/Section.tsx'
import { Settled } from '../../ui/app/Settled.tsx'
import { toast } from '../../ui/app/toast.ts'
import { DangerLine, DangerZone } from '../../ui/lazy/DangerZone.tsx'
import details from '../../ui/lazy/details.module.css'
import { SectionBoundary } from '../../ui/lazy/SectionBoundary.tsx'
import { SheetSkeleton } from '../../ui/lazy/SheetSkeleton.tsx'
import { BlockedDevicesSection } from '../devices/shared/BlockedDevicesSection.tsx'
import { CertificateRenewalSection } from './CertificateRenewalSection.tsx'
import pinned from './PinnedPropertiesSection.module.css'
import { PinnedPropertiesSection } from './PinnedPropertiesSection.tsx'

const ExportForm = lazy(async () => ({
  default: (await loadCode(() => import('../webhooks/shared/ExportForm.tsx'))).ExportForm,
}))

const route = getRouteApi('/authenticated/org_{$organization}/projects/$projectId/settings')

/** Settings of a project: its name, pinned properties, blocked devices, export of events, how long its data are kept, and its deletion. */
export function ProjectSettingsPage() {
  const { organization, projectId } = route.useParams()
  const organizationId = organizationIdOf({ organization })
  const navigate = useNavigate()
  // Only administrators of the organization may see and change the export.
  const isAdmin = useOrganizations()?.find(one => one.organizationId === organizationId)?.isAdmin ?? false
  const { data } = useActionState('projects_GetDetails', { projectId })
  const remove = useCommand('projects_Delete', {
    deletes: input => input.projectId,
    invalidates: ['organizations_QueryProjects'],
    onSuccess: () => navigate({ to: '/org_{$organization}/projects', params: { organization } }),
  })
  const rename = useCommand('projects_SetName', {
    invalidates: ['projects_GetDetails', 'organizations_QueryProjects'],
  })
  const summary = useActionState('projects_GetSummary', { projectId, maxBins: 1 }).data
  const tokenCount = useActionState('projects_QueryDeploymentTokens', { projectId, limit: 1 }).data?.total
  const what =
    summary && tokenCount !== undefined
      ? `${counted(summary.deviceCount, 'device')} and ${counted(tokenCount, 'token')}`
      : 'devices and tokens'
  const connected = summary ? `${counted(summary.connectedCount, 'device')} now` : 'its devices'
  return (
    <Page width="settings">
      <PageHead title="Settings">
        <MissingStamp />
      </PageHead>
      <Settled
        label="Loading settings"
        skeleton={
          <div className="stack">
            <SheetSkeleton heightPx={146} />
            <SheetSkeleton heightPx={180} />
            <SheetSkeleton heightPx={100} />
            <SheetSkeleton heightPx={110} />
            <SheetSkeleton heightPx={210} />
            <SheetSkeleton heightPx={145} />
          </div>
        }
      >
        <div className="stack">
          <NameForm
            title="Project"
            name={data?.name}
            note="Devices and tokens are not affected."
            save={name => rename.mutateAsync({ projectId, name })}
          />
          <PinnedPropertiesSection projectId={projectId} />
          {data && <CertificateRenewalSection projectId={projectId} isAllowed={data.certificateRenewal} />}
          <BlockedDevicesSection projectId={projectId} />
          {isAdmin && (
            <Section title="Export of events" padded={false}>
              <SectionBoundary what="the export of events">
                <ExportForm organizationId={organizationId} projectId={projectId} />
              </SectionBoundary>
            </Section>
          )}
          {data && <RetentionSection {...data.retention} />}
          <DangerZone>
            <DangerLine
              name="Delete Project"
              consequence={`Removes the project with its ${what} for everyone and disconnects ${connected}. This cannot be undone.`}
              icon={Trash2}
              busyLabel="Deleting…"
              question="Are you sure you want to delete this project?"
              act={async () => {
                await remove.mutateAsync({ projectId })
                toast(`Project ${data?.name ?? projectId} deleted.`)
              }}
              failure="Could not delete the project"
            />
          </DangerZone>
        </div>
      </Settled>
    </Page>
  )
}

/** Section with the number of days for which the hub keeps each kind of data. The days are settings of the hub, equal for all projects. */
function RetentionSection({ eventDays, auditDays }: ActionOutput<'projects_GetDetails'>['retention']) {
  const days = <b>{counted(eventDays, 'day')}</b>
  return (
    <Section title="Retention" padded={false}>
      <dl className={`inset ${details.facts}`}>
        <dt>Device events</dt>
        <dd>{days}</dd>
        <dt>Connections</dt>
        <dd>{days} after their end, and always the last one</dd>
        <dt>Property history</dt>
        <dd>{days}, and always the current value</dd>
        <dt>Audit log</dt>
        <dd>
          <b>{auditDays === undefined ? 'For ever' : counted(auditDays, 'day')}</b>, sealed every 5 minutes
        </dd>
      </dl>
      <p className={pinned.note}>Set for the whole hub by an administrator.</p>
    </Section>
  )
}
