import type { ComponentProps } from 'react'
import { useAction, useActionState } from '../../../../api/queries.ts'
import { formatCount } from '../../../../lib/app/format.ts'
import { Badge, type Tone } from '../../../../ui/app/Badge.tsx'
import { Section } from '../../../../ui/app/Section.tsx'
import { Fact, FactList } from '../../../../ui/lazy/FactList.tsx'
import { LongText } from '../../../../ui/lazy/JsonValue.tsx'
import { SectionBoundary } from '../../../../ui/lazy/SectionBoundary.tsx'
import { VersionLink } from '../../../repositories/shared/VersionLink.tsx'
import { cut } from '../cut.ts'
import { OTA_STATUS } from '../property-names.ts'
import { foundProperties, readOtaStatus } from '../well-known.ts'
import { Attempts } from './Attempts.tsx'
import styles from './OtaSection.module.css'
import { useUpdateVersions } from './update-versions.ts'

const LONGEST_STATE = 24

/** The update status last reported by update scripts. Unknown states are shown unchanged (docs/specification.md 4). */
export function OtaSection({ deviceId }: { deviceId: string }) {
  return (
    <Section id="ota" title="OTA Update Status" padded={false} aside={<OtaState deviceId={deviceId} />}>
      <SectionBoundary what="the update status">
        <OtaFacts deviceId={deviceId} />
      </SectionBoundary>
    </Section>
  )
}

function OtaState({ deviceId }: { deviceId: string }) {
  const { data } = useActionState('devices_GetProperty', { deviceId, name: OTA_STATUS })
  const status = data && readOtaStatus(foundProperties([data]))
  if (!status || status === 'unreadable' || status.state === undefined) return null
  const { state } = status
  return (
    <Badge tone={toneOf(state)} caps>
      {cut(state, LONGEST_STATE).toUpperCase()}
    </Badge>
  )
}

function OtaFacts({ deviceId }: { deviceId: string }) {
  const answer = useAction('devices_GetProperty', { deviceId, name: OTA_STATUS })
  const status = readOtaStatus(foundProperties([answer]))
  const { follows, followed, current, target } = useUpdateVersions(deviceId)
  if (!status || status === 'unreadable') {
    return (
      <div className="inset">
        <p className="muted">
          {status ? 'This property has no readable value: ' : 'No update status reported: '}
          <span className="mono">{OTA_STATUS}</span>
        </p>
        {follows !== undefined && (
          <FactList>
            <Fact label="Follows" mono>
              <VersionText version={followed} text={follows} />
            </Fact>
          </FactList>
        )}
      </div>
    )
  }
  const { currentVersion, targetVersion, failureCount, lastError } = status
  const hasFailed = failureCount > 0 || lastError !== undefined
  return (
    <>
      <div className="inset">
        <FactList className={styles.versions}>
          <Fact label="Current version" mono>
            {currentVersion === undefined ? '–' : <VersionText version={current} text={currentVersion} />}
          </Fact>
          <Fact label="Target version" mono>
            {targetVersion === undefined ? '–' : <VersionText version={target} text={targetVersion} />}
          </Fact>
          <Fact label="Failures">{formatCount(failureCount)}</Fact>
          <Fact label="Last error" mono>
            {lastError === undefined ? '–' : <LongText text={lastError} />}
          </Fact>
          <Fact label="Follows" mono>
            {follows === undefined ? '–' : <VersionText version={followed} text={follows} />}
          </Fact>
        </FactList>
      </div>
      {hasFailed && targetVersion !== undefined && (
        <Attempts deviceId={deviceId} targetVersion={targetVersion} />
      )}
    </>
  )
}

type VersionTextProps = Pick<ComponentProps<typeof LongText>, 'text'> & {
  version: ReturnType<typeof useUpdateVersions>['target']
}

/** The name of a version or the path of a tag, as a link if the version is stored in the package that the device follows. */
function VersionText({ version, text }: VersionTextProps) {
  const shown = <LongText text={text} />
  return version ? <VersionLink {...version}>{shown}</VersionLink> : shown
}

function toneOf(state: string): Tone {
  if (state === 'completed') return 'ok'
  return state === 'failed' ? 'bad' : 'info'
}
