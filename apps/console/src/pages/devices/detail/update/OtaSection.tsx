import { useAction, useActionState } from '../../../../api/queries.ts'
import { formatCount } from '../../../../lib/app/format.ts'
import { Badge, type Tone } from '../../../../ui/app/Badge.tsx'
import { Section } from '../../../../ui/app/Section.tsx'
import { Fact, FactList } from '../../../../ui/lazy/FactList.tsx'
import { LongText } from '../../../../ui/lazy/JsonValue.tsx'
import { SectionBoundary } from '../../../../ui/lazy/SectionBoundary.tsx'
import { VersionLink } from '../../../repositories/VersionLink.tsx'
import { cut } from '../cut.ts'
import { OTA_STATUS } from '../property-names.ts'
import { foundProperties, readOtaStatus } from '../well-known.ts'
import { Attempts } from './Attempts.tsx'
import { pathOf, useFollowedPath, useVersionAt } from './followed-path.ts'
import styles from './OtaSection.module.css'

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
  const follows = useFollowedPath(deviceId, answer.result === 'Found' ? answer.value : undefined)
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
              <Followed path={follows} />
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
            <VersionName version={currentVersion} follows={follows} />
          </Fact>
          <Fact label="Target version" mono>
            <VersionName version={targetVersion} follows={follows} />
          </Fact>
          <Fact label="Failures">{formatCount(failureCount)}</Fact>
          <Fact label="Last error" mono>
            {lastError === undefined ? '–' : <LongText text={lastError} />}
          </Fact>
          <Fact label="Follows" mono>
            {follows === undefined ? '–' : <Followed path={follows} />}
          </Fact>
        </FactList>
      </div>
      {hasFailed && targetVersion !== undefined && (
        <Attempts deviceId={deviceId} targetVersion={targetVersion} />
      )}
    </>
  )
}

/** A version, as a link if the package from which the device takes its updates has a tag with this name. */
function VersionName({ version, follows }: { version: string | undefined; follows: string | undefined }) {
  const path = pathOf(follows)
  const found = useVersionAt(path && version !== undefined ? { ...path, tag: version } : undefined)
  if (version === undefined) return '–'
  const text = <LongText text={version} />
  return found ? <VersionLink {...found}>{text}</VersionLink> : text
}

/** The path of a tag, as a link to the version that has the tag. */
function Followed({ path }: { path: string }) {
  const found = useVersionAt(pathOf(path))
  const text = <LongText text={path} />
  return found ? <VersionLink {...found}>{text}</VersionLink> : text
}

function toneOf(state: string): Tone {
  if (state === 'completed') return 'ok'
  return state === 'failed' ? 'bad' : 'info'
}
