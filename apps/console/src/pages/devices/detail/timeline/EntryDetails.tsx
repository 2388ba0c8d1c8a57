import { Link as LinkIcon } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useActionState } from '../../../../api/queries.ts'
import { formatBytes } from '../../../../lib/app/format.ts'
import { copyText } from '../../../../lib/clipboard.ts'
import { toast } from '../../../../ui/app/toast.ts'
import { Button } from '../../../../ui/Button.tsx'
import { Fact, FactList } from '../../../../ui/lazy/FactList.tsx'
import { JsonValue } from '../../../../ui/lazy/JsonValue.tsx'
import { VersionLink } from '../../../repositories/shared/VersionLink.tsx'
import { SameErrorLink } from '../../SameError.tsx'
import { nameOf } from '../../shared/actor-name.ts'
import { PropertyHistoryDialog } from '../PropertyHistoryDialog.tsx'
import { OTA_STATUS } from '../property-names.ts'
import { otaStatusOf } from '../well-known.ts'
import { wallTime } from './ClockTime.tsx'
import { Diff } from './Diff.tsx'
import styles from './EntryDetails.module.css'
import type { Entry, EntryOf } from './entry.ts'
import { linkTo } from './entry-link.ts'
import { updateChangeOf } from './update-change.ts'

/** Minimum difference, in milliseconds, between the clocks of device and hub for which the details name both times. */
const CLOCKS_DIFFER_MS = 5 * 60_000

type EntryDetailsProps = { deviceId: string; entry: Entry; labelledBy: string }

/** Details of an entry: changed values, facts, and buttons for its link and its raw data. */
export function EntryDetails({ deviceId, entry, labelledBy }: EntryDetailsProps) {
  const [isRaw, setRaw] = useState(false)
  const [hasHistory, setHistory] = useState(false)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset groups form fields
    <div className={styles.details} role="group" aria-labelledby={labelledBy}>
      {entry.type === 'property' && <Diff entry={entry} />}
      <FactList>
        <Facts entry={entry} />
        <Fact label="Time">{utcTime(entry.at)}</Fact>
      </FactList>
      {isRaw && (
        <div className={styles.raw}>
          <JsonValue value={entry} open />
        </div>
      )}
      <div className={`wrap ${styles.actions}`}>
        <Button size="sm" icon={LinkIcon} onClick={() => void copyLink(entry)}>
          Copy Link
        </Button>
        <Button size="sm" variant="ghost" aria-expanded={isRaw} onClick={() => setRaw(!isRaw)}>
          Raw data
        </Button>
        {entry.type === 'property' && (
          <Button size="sm" variant="ghost" onClick={() => setHistory(true)}>
            {entry.now.isCut ? `Past values, with all ${formatBytes(entry.now.valueBytes)}` : 'Past values'}
          </Button>
        )}
        <SameFailure deviceId={deviceId} entry={entry} />
      </div>
      {hasHistory && entry.type === 'property' && (
        <PropertyHistoryDialog deviceId={deviceId} name={entry.name} onClose={() => setHistory(false)} />
      )}
    </div>
  )
}

/**
 * Link to other devices whose update failed with the same error. It is shown only while the error is the latest one of this device, because
 * `SameErrorLink` searches for the latest error.
 */
function SameFailure({ deviceId, entry }: { deviceId: string; entry: Entry }) {
  const change = updateChangeOf(entry)
  const hasError = change?.what === 'failed' && change.error !== undefined
  const status = useActionState(
    'devices_GetProperty',
    { deviceId, name: OTA_STATUS },
    { enabled: hasError },
  ).data
  const lastError = status?.result === 'Found' ? otaStatusOf(status.value)?.lastError : undefined
  return hasError && change.error === lastError && <SameErrorLink deviceId={deviceId} />
}

async function copyLink(entry: Entry) {
  if (await copyText(linkTo(entry))) toast('Link copied.')
}

function Facts({ entry }: { entry: Entry }): ReactNode {
  switch (entry.type) {
    case 'event': {
      const { at, emittedAt = at, receivedAt } = entry
      const isOff = Math.abs(Date.parse(receivedAt) - Date.parse(at)) > CLOCKS_DIFFER_MS
      return (
        <>
          <Fact label="Severity">{entry.severity}</Fact>
          {isOff && <Fact label="Received by the hub">{utcTime(receivedAt)}</Fact>}
          {entry.clockErrorSecs !== undefined && (
            <Fact label="Clock of the device">{utcTime(emittedAt)}</Fact>
          )}
          <Fact label="Event" mono>
            {entry.eventId}
          </Fact>
          {typeof entry.body !== 'string' && (
            <Fact label="Body">
              <JsonValue value={entry.body} open />
            </Fact>
          )}
          {Object.keys((entry.attributes ?? {}) as object).length > 0 && (
            <Fact label="Attributes">
              <JsonValue value={entry.attributes} open />
            </Fact>
          )}
        </>
      )
    }
    case 'connected':
    case 'disconnected':
      return (
        <>
          <Fact label="Connection" mono>
            {entry.connectionId}
          </Fact>
          <Fact label="Node" mono>
            {entry.nodeName ?? entry.nodeId}
          </Fact>
        </>
      )
    case 'property': {
      const startedAt = updateChangeOf(entry)?.startedAt
      return (
        <>
          <Fact label="Property" mono>
            {entry.name}
          </Fact>
          <Fact label="By">{nameOf(entry)}</Fact>
          <Account entry={entry} />
          {startedAt !== undefined && <Fact label="Installing since">{wallTime(startedAt)}</Fact>}
        </>
      )
    }
    case 'audit':
      return (
        <>
          <Fact label="Audit event" mono>
            {entry.eventId}
          </Fact>
          {typeof entry.data.certificateId === 'string' && (
            <Fact label="Certificate" mono>
              {entry.data.certificateId}
            </Fact>
          )}
          {entry.tokenName !== undefined && <Fact label="User token">{entry.tokenName}</Fact>}
          <Account entry={entry} />
        </>
      )
    case 'tag':
      return (
        <>
          <Fact label="Tag" mono>
            {entry.path}
          </Fact>
          {entry.details?.to && (
            <Fact label="Version">
              <VersionLink {...entry.details} versionId={entry.details.to.versionId}>
                {entry.details.to.name ?? entry.details.to.versionId}
              </VersionLink>
            </Fact>
          )}
        </>
      )
  }
}

/** Id of the person who acted. For a deleted account, nothing else is known. */
function Account({ entry: { actor } }: { entry: EntryOf<'property' | 'audit'> }) {
  if (!('userId' in actor)) return null
  return (
    <Fact label="Account" mono>
      {actor.userId}
    </Fact>
  )
}

/** A time in UTC to the millisecond: "2026-11-23 12:58:04.218 UTC". */
function utcTime(at: string): string {
  return `${at.slice(0, 10)} ${at.slice(11, 23)} UTC`
}
