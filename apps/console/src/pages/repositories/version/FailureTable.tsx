import { useState } from 'react'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { Section } from '../../../ui/app/Section.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Cell, type Column, Row, Table } from '../../../ui/lazy/Table.tsx'
import { CountLink } from '../../software/shared/CountLink.tsx'
import shared from '../../software/shared/software.module.css'
import styles from './FailureTable.module.css'
import { namedProjects, type Usage } from './usage.ts'

/** Number of reasons that are shown at first. */
const FIRST = 5
/** Number of projects that are named for each reason. */
const NAMED = 3

/** Reasons for which devices failed to install the version, most devices first, with the versions that these devices run now. */
export function FailureTable({ usage }: { usage: Usage }) {
  const [isWhole, setWhole] = useState(false)
  const { failures, otherFailures } = usage
  const shown = isWhole ? failures : failures.slice(0, FIRST)
  const hidden = failures.length - shown.length
  return (
    <Section title="Failures by reason" padded={false}>
      <div className={styles.failures}>
        <Table
          caption="Failures by reason"
          columns={COLUMNS}
          rows={shown.map(failure => (
            <FailureRow key={failure.error ?? ''} usage={usage} failure={failure} />
          ))}
          bare
        />
      </div>
      {(hidden > 0 || otherFailures) && (
        <div className={shared.note}>
          {hidden > 0 && (
            <Button size="sm" variant="ghost" onClick={() => setWhole(true)}>
              Show {counted(hidden, 'more reason')}
            </Button>
          )}
          {otherFailures && (
            <span>
              {counted(otherFailures.deviceCount, 'device')} with{' '}
              {counted(otherFailures.reasonCount, 'further reason')}.
            </span>
          )}
        </div>
      )}
    </Section>
  )
}

type FailureRowProps = { usage: Usage; failure: Usage['failures'][number] }

function FailureRow({ usage, failure }: FailureRowProps) {
  const { error, deviceCount, maxFailureCount, lastReportedAt, versions } = failure
  const projects = namedProjects(usage, failure.projects)
  const attempts = maxFailureCount
    ? `${maxFailureCount > 1 && deviceCount > 1 ? 'up to ' : ''}${counted(maxFailureCount, 'attempt')}`
    : undefined
  return (
    <Row>
      <Cell>
        <CountLink
          count={deviceCount}
          words={`devices: ${error ?? 'no reason reported'}`}
          projects={projects}
          condition={{ versionId: usage.versionId, is: 'fails' }}
          failure={error === undefined ? { target: `=${usage.reportedAs}` } : { error }}
        />
      </Cell>
      <Cell>
        <div className="stack tight">
          {error ? (
            <bdi className={styles.reason}>{error}</bdi>
          ) : (
            <span className="muted">no reason reported</span>
          )}
          <span className={`tiny muted ${shared.subline}`}>
            {[
              ...projects.slice(0, NAMED).map(({ name, count }) => `${name} ${formatCount(count)}`),
              ...(projects.length > NAMED ? ['…'] : []),
            ].join(', ')}
            {attempts && ` · ${attempts}`}
          </span>
        </div>
      </Cell>
      <Cell>
        <bdi className="mono">
          {versions
            .map(({ version, deviceCount: count }) => `${version} (${formatCount(count)})`)
            .join(', ') || '–'}
        </bdi>
      </Cell>
      <Cell>{lastReportedAt ? <Time at={lastReportedAt} /> : '–'}</Cell>
    </Row>
  )
}

const COLUMNS: readonly Column[] = [
  { name: 'Devices' },
  { name: 'Reason', head: 'Reason as the device reported it', kind: 'title' },
  { name: 'They run' },
  { name: 'Last report' },
]
