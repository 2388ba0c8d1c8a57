import { useActionPages, useCommand } from '../../../api/queries.ts'
import { counted } from '../../../lib/app/format.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { LoadMore } from '../../../ui/app/LoadMore.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { toast, toastError } from '../../../ui/app/toast.ts'
import { Button } from '../../../ui/Button.tsx'
import styles from './BlockedDevicesSection.module.css'
import { DeviceName } from './DeviceName.tsx'
import { deviceNameText } from './device-name.ts'

/** Deleted devices that a project refuses, the latest first. Each can be unblocked. */
export function BlockedDevicesSection({ projectId }: { projectId: string }) {
  const list = useActionPages('projects_QueryBlockedDevices', { projectId, limit: 20 })
  const unblock = useCommand('projects_UnblockDevice', { invalidates: ['projects_QueryBlockedDevices'] })
  const blocks = list.data?.pages.flatMap(page => page.blocks)
  return (
    <Section title="Blocked devices" padded={false}>
      <p className={styles.note}>
        {blocks?.length === 0
          ? 'None. The Danger Zone of a device can block it: the project then refuses its fingerprint and its certificates.'
          : 'This project refuses their fingerprints and certificates. An unblocked device may return as a new one.'}
      </p>
      <ErrorAlert title="Could not load the blocked devices." error={blocks ? undefined : list.error} />
      <ul className={styles.blocks}>
        {blocks?.map(({ blockId, certificateCount, blockedAt, actorName, deviceId, ...names }) => (
          <li key={blockId}>
            <div className="grow">
              <b>
                <bdi>
                  <DeviceName {...names} />
                </bdi>
              </b>
              <span className="secondary">
                {certificateCount === 0
                  ? 'fingerprint only'
                  : `with ${counted(certificateCount, 'certificate')}`}
                , <Time at={blockedAt} />
                {actorName !== undefined && ` by ${actorName}`}
              </span>
              <span className="mono muted">{deviceId}</span>
            </div>
            <Button
              size="sm"
              busy={unblock.isPending && unblock.variables.blockId === blockId}
              busyLabel="Unblocking…"
              onClick={() =>
                unblock.mutateAsync({ projectId, blockId }).then(
                  () => toast(`${deviceNameText(names)} is no longer blocked.`),
                  error => toastError('Could not unblock the device', error),
                )
              }
            >
              Unblock<span className="visually-hidden"> {deviceNameText(names)}</span>
            </Button>
          </li>
        ))}
      </ul>
      {blocks && list.hasNextPage && (
        <LoadMore
          shown={blocks.length}
          total={list.data?.pages[0]?.total}
          what="blocked devices"
          busy={list.isFetchingNextPage}
          onClick={() => void list.fetchNextPage()}
        />
      )}
    </Section>
  )
}
