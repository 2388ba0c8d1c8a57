import { useIsMutating } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useActionState } from '../../api/queries.ts'
import { ErrorAlert } from '../../ui/Alert.tsx'
import { isAbsent } from '../../ui/is-absent.ts'
import { NotFound } from '../../ui/NotFound.tsx'
import { Page } from '../../ui/Page.tsx'
import { AnchorNav } from './AnchorNav.tsx'
import { CertificatesSection } from './CertificatesSection.tsx'
import { ConnectionsSection } from './ConnectionsSection.tsx'
import { DangerSection } from './DangerSection.tsx'
import { DeviceHead } from './DeviceHead.tsx'
import { EventsSection } from './EventsSection.tsx'
import { HistorySection } from './HistorySection.tsx'
import { PendingNotice, RefusalNotice } from './Notices.tsx'
import { OtaSection } from './OtaSection.tsx'
import { PropertiesSection } from './PropertiesSection.tsx'
import { RenameSection } from './RenameSection.tsx'
import { SystemInfoSection } from './SystemInfoSection.tsx'

/** Everything the hub knows about one device; each section loads and fails alone. */
export function DevicePage() {
  const { projectId, deviceId } = useParams({
    from: '/authenticated/org_{$organization}/projects/$projectId/devices/$deviceId',
  })
  return <Device key={deviceId} projectId={projectId} deviceId={deviceId} />
}

function Device({ projectId, deviceId }: { projectId: string; deviceId: string }) {
  const { data: details, error, dataUpdatedAt } = useActionState('devices_GetDetails', { deviceId })
  // The live stream tells of a deletion before its own answer has led away from here.
  const isDeleting = useIsMutating({ mutationKey: ['devices_Delete'] }) > 0
  const isElsewhere = details !== undefined && details.projectId !== projectId
  if (!isDeleting && (isElsewhere || isAbsent(error))) return <NotFound />

  return (
    <Page>
      <DeviceHead deviceId={deviceId} details={details} answeredAt={dataUpdatedAt} />
      <AnchorNav deviceId={deviceId} />
      <div className="cols">
        <div className="stack ov" id="ov">
          {details && (
            <>
              <ErrorAlert title="Could not load the device." error={error} />
              <PendingNotice certificates={details.certificates} />
              <RefusalNotice {...details} />
            </>
          )}
          <HistorySection deviceId={deviceId} />
        </div>
        <aside className="stack rail" aria-label="Summary">
          <OtaSection deviceId={deviceId} />
          <RenameSection deviceId={deviceId} />
        </aside>
        <div className="stack rest">
          <SystemInfoSection deviceId={deviceId} />
          <PropertiesSection deviceId={deviceId} />
          <CertificatesSection deviceId={deviceId} />
          <EventsSection deviceId={deviceId} />
          <ConnectionsSection deviceId={deviceId} />
          <DangerSection deviceId={deviceId} name={details?.name ?? 'unnamed'} />
        </div>
      </div>
    </Page>
  )
}
