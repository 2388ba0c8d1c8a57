import { useAction, useActionState } from '../../../api/queries.ts'
import { formatCount } from '../../../lib/app/format.ts'
import { Badge, type Tone } from '../../../ui/app/Badge.tsx'
import { LongText } from '../../../ui/app/JsonValue.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import { SectionBoundary } from '../../../ui/app/SectionBoundary.tsx'
import { foundProperties, OTA_STATUS, readOtaStatus } from './well-known.ts'

const LONGEST_STATE = 24

/** The update status last reported by update scripts. Unknown states are shown unchanged (docs/product.md 4). */
export function OtaSection({ deviceId }: { deviceId: string }) {
  return (
    <Section id="ota" title="OTA Update Status" aside={<OtaState deviceId={deviceId} />}>
      <SectionBoundary what="the update status">
        <OtaVersions deviceId={deviceId} />
      </SectionBoundary>
    </Section>
  )
}

function OtaState({ deviceId }: { deviceId: string }) {
  const { data } = useActionState('devices_GetProperty', { deviceId, name: OTA_STATUS })
  const status = data && readOtaStatus(foundProperties([data]))
  if (!status || status === 'unreadable' || status.state === undefined) return null
  const { state } = status
  const text = state.length > LONGEST_STATE ? `${state.slice(0, LONGEST_STATE)}…` : state
  return (
    <Badge tone={toneOf(state)} caps>
      {text.toUpperCase()}
    </Badge>
  )
}

function OtaVersions({ deviceId }: { deviceId: string }) {
  const answer = useAction('devices_GetProperty', { deviceId, name: OTA_STATUS })
  const status = readOtaStatus(foundProperties([answer]))
  if (!status || status === 'unreadable') {
    return (
      <p className="muted">
        {status ? 'This property has no readable value: ' : 'No update status reported: '}
        <span className="mono">{OTA_STATUS}</span>
      </p>
    )
  }
  return (
    <dl className="kv fit">
      <Version label="Current version" version={status.currentVersion} />
      <Version label="Target version" version={status.targetVersion} />
      {status.failureCount > 0 && (
        <div>
          <dt>Failures</dt>
          <dd className="num">{formatCount(status.failureCount)}</dd>
        </div>
      )}
      {status.lastError !== undefined && (
        <div>
          <dt>Last error</dt>
          <dd className="mono" style={{ overflowWrap: 'anywhere' }}>
            <LongText text={status.lastError} />
          </dd>
        </div>
      )}
    </dl>
  )
}

function toneOf(state: string): Tone {
  if (state === 'completed') return 'ok'
  return state === 'failed' ? 'bad' : 'info'
}

function Version({ label, version }: { label: string; version: string | undefined }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd className="mono" style={{ overflowWrap: 'anywhere' }}>
        {version ?? '–'}
      </dd>
    </div>
  )
}
