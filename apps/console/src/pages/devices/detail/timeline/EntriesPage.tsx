import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useActionState } from '../../../../api/queries.ts'
import { LiveStamp } from '../../../../ui/app/LiveStamp.tsx'
import page from '../../../../ui/app/Page.module.css'
import { Page } from '../../../../ui/app/Page.tsx'
import { isAbsent } from '../../../../ui/is-absent.ts'
import { Breadcrumb } from '../../../../ui/lazy/Breadcrumb.tsx'
import { Absent } from '../../../../ui/NotFound.tsx'
import { Title } from '../../../../ui/Title.tsx'
import { deviceNameText } from '../../shared/device-name.ts'
import { StatusBadges } from '../StatusBadges.tsx'
import styles from './EntriesPage.module.css'
import type { useTimeline } from './use-timeline.ts'

type EntriesPageProps = {
  deviceId: string
  title: string
  /** Shows the state of the device beside its name. */
  hasStatus?: boolean
  timeline: ReturnType<typeof useTimeline>
  /** Filters and the list. */
  children: ReactNode
}

/** Page below the page of a device: breadcrumb, heading with the device's name, and the time of the last refresh. */
export function EntriesPage({
  deviceId,
  title,
  hasStatus = false,
  timeline: { first },
  children,
}: EntriesPageProps) {
  const { data: details, error } = useActionState('devices_GetDetails', { deviceId })
  if (isAbsent(error)) return <Absent reason={error} />
  const name = details ? deviceNameText(details) : deviceId
  return (
    <Page>
      <Title page={`${title} · ${name}`} />
      <Breadcrumb
        links={[
          <Link key="devices" from="/org_{$organization}/projects/$projectId" to="./devices">
            Devices
          </Link>,
          <Link key="device" from="/org_{$organization}/projects/$projectId/devices/$deviceId" to=".">
            {name}
          </Link>,
        ]}
        here={title}
      />
      <div className={`page-head ${styles.head}`}>
        <h1 tabIndex={-1}>{title}</h1>
        <span className={`${page.count} ${styles.device}`}>
          <bdi>{name}</bdi>
        </span>
        {hasStatus && details && <StatusBadges deviceId={deviceId} isConnected={details.isConnected} />}
        <span className="grow" />
        {first.data && <LiveStamp updatedAt={first.dataUpdatedAt} failedAt={first.errorUpdatedAt} />}
      </div>
      {children}
    </Page>
  )
}
