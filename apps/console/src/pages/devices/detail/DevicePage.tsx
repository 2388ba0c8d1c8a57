import type { ActionOutput } from '@muster/actions/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useActionState } from '../../../api/queries.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { Page } from '../../../ui/app/Page.tsx'
import { Settled } from '../../../ui/app/Settled.tsx'
import { Button } from '../../../ui/Button.tsx'
import { isAbsent } from '../../../ui/is-absent.ts'
import { Breadcrumb } from '../../../ui/lazy/Breadcrumb.tsx'
import { EntityHead } from '../../../ui/lazy/EntityHead.tsx'
import { SheetSkeleton } from '../../../ui/lazy/SheetSkeleton.tsx'
import { deviceNameText } from '../shared/device-name.ts'
import tabs from '../tab-row.module.css'
import anchors from './AnchorNav.module.css'
import { AnchorNav } from './AnchorNav.tsx'
import { CalmLine } from './CalmLine.tsx'
import { CertificatesSection } from './CertificatesSection.tsx'
import { ConnectionsSection } from './ConnectionsSection.tsx'
import { ConnectionSection } from './connection/ConnectionSection.tsx'
import { DangerSection } from './DangerSection.tsx'
import { DeviceAbsent } from './DeviceAbsent.tsx'
import { DeviceHead } from './DeviceHead.tsx'
import styles from './DevicePage.module.css'
import { connectionsQuery, propertiesQuery } from './device-queries.ts'
import { EventsSection } from './EventsSection.tsx'
import { LimitsNotice } from './Notices.tsx'
import { PendingBox } from './PendingBox.tsx'
import { ProblemBox } from './ProblemBox.tsx'
import { ProxySection } from './ProxySection.tsx'
import { useShownProblems } from './problem/use-shown-problems.ts'
import { PropertiesSection } from './properties/PropertiesSection.tsx'
import { RenameSection } from './RenameSection.tsx'
import { SystemInfoSection } from './SystemInfoSection.tsx'
import { OtaSection } from './update/OtaSection.tsx'
import { useBeginning, useProblems } from './use-problems.ts'

/** The page of a device. Each section has its own loading state and error. */
export function DevicePage() {
  const { projectId, deviceId } = useParams({
    from: '/authenticated/org_{$organization}/projects/$projectId/devices/$deviceId',
  })
  return <Device key={deviceId} projectId={projectId} deviceId={deviceId} />
}

function Device({ projectId, deviceId }: { projectId: string; deviceId: string }) {
  const query = useActionState('devices_GetDetails', { deviceId })
  const { data: details, error, refetch } = query
  const reported = useProblems(deviceId, details)
  const problems = useShownProblems(reported.problems)
  const beginning = useBeginning(deviceId, problems?.[0])
  const isPending = details?.certificates.some(({ status }) => status === 'Pending')
  const isNew = useIsNew(deviceId, details)
  const isElsewhere = details !== undefined && details.projectId !== projectId
  const reason = isAbsent(error) ? error : isElsewhere && 'The device belongs to another project.'
  if (reason) return <DeviceAbsent reason={reason} />

  return (
    <Page>
      <Settled label="Loading device" skeleton={<DeviceSkeleton deviceId={deviceId} />}>
        <DeviceHead
          projectId={projectId}
          deviceId={deviceId}
          details={details}
          answeredAt={query.dataUpdatedAt}
          failedAt={query.errorUpdatedAt}
        />
        <ErrorAlert
          title="Could not load the device."
          error={error}
          action={
            !details && (
              <Button size="sm" onClick={() => void refetch()}>
                Try again
              </Button>
            )
          }
        />
        {details && <PendingBox details={details} />}
        {problems && <ProblemBox deviceId={deviceId} problems={problems} />}
        {details && !error && problems?.length === 0 && !isPending && !isNew && (
          <CalmLine deviceId={deviceId} isConnected={details.isConnected} />
        )}
        <AnchorNav deviceId={deviceId} />
        <div className={styles.sections}>
          {details && <LimitsNotice {...details} />}
          <div className={`${styles.pair} ${styles.wide}`} id="ov">
            <ConnectionSection
              deviceId={deviceId}
              problemBeganAt={beginning.at}
              isLoading={query.isPending || reported.isLoading || beginning.isLoading}
            />
            {isNew ? (
              <div className="stack">
                <EventsSection deviceId={deviceId} />
                <OtaSection deviceId={deviceId} />
              </div>
            ) : (
              <EventsSection deviceId={deviceId} />
            )}
          </div>
          {!isNew && <OtaSection deviceId={deviceId} />}
          <div className={isNew ? styles.pair : styles.sections}>
            <PropertiesSection projectId={projectId} deviceId={deviceId} />
            <SystemInfoSection deviceId={deviceId} />
          </div>
          <CertificatesSection deviceId={deviceId} />
          <div className={`${styles.pair} ${styles.narrow}`}>
            <ConnectionsSection deviceId={deviceId} />
            <ProxySection deviceId={deviceId} />
          </div>
          <div className={styles.pair}>
            <RenameSection deviceId={deviceId} />
            <DangerSection
              projectId={projectId}
              deviceId={deviceId}
              name={deviceNameText(details ?? {})}
              certificates={details?.certificates ?? []}
            />
          </div>
        </div>
      </Settled>
    </Page>
  )
}

/** Placeholder with the shape of the page of a device without a problem. */
function DeviceSkeleton({ deviceId }: { deviceId: string }) {
  return (
    <>
      <Breadcrumb
        links={[
          <Link key="devices" from="/org_{$organization}/projects/$projectId" to="./devices">
            Devices
          </Link>,
        ]}
        here={deviceId}
      />
      <EntityHead title={deviceId} facts={<span className="mono">{deviceId}</span>} />
      <div className={`${tabs.row} ${anchors.nav}`} />
      <div className={styles.sections}>
        <div className={`${styles.pair} ${styles.wide}`}>
          <SheetSkeleton heightPx={420} title="Connection" />
          <SheetSkeleton heightPx={420} title="Recent Events" />
        </div>
        <SheetSkeleton heightPx={124} title="OTA Update Status" />
        <SheetSkeleton heightPx={320} title="Properties" />
      </div>
    </>
  )
}

/**
 * Whether a device has never connected and has no properties. Each section of its page then has only one sentence, and the sections are
 * side by side. False while the answers load.
 */
function useIsNew(deviceId: string, details: ActionOutput<'devices_GetDetails'> | undefined): boolean {
  const history = useQuery(connectionsQuery(deviceId)).data?.connections
  const properties = useQuery(propertiesQuery(deviceId)).data?.properties
  if (!details || !history || !properties) return false
  return !details.isConnected && history.length === 0 && Object.keys(properties).length === 0
}
