import { useRef } from 'react'
import { counted, formatCount, formatPercent } from '../../../lib/app/format.ts'
import { useIsNarrow } from '../../../lib/app/use-is-narrow.ts'
import { useWidth } from '../../../lib/app/use-width.ts'
import { CountLink } from '../../software/shared/CountLink.tsx'
import { reporting } from '../../software/shared/reporting.ts'
import shared from '../../software/shared/software.module.css'
import { TickRow, TickSign } from '../../software/shared/TickRow.tsx'
import { devicesPerTick, ticksOf, tickText } from '../../software/shared/ticks.ts'
import { projectsBy, type Relation, reportCountOf, type Usage, type UsageCounts } from './usage.ts'
import styles from './WhoRunsIt.module.css'

/** Width of a tick with its gap in pixels, as in `TickRow.module.css` and `WhoRunsIt.module.css`. */
const STEP_PX = 6
const STEP_ON_PHONES_PX = 4

/** Labels of the cells, and the words after the number of each cell for screen readers. */
const CELLS: readonly { relation: Relation; label: string; words: string }[] = [
  { relation: 'runs', label: 'Run it', words: 'devices run it' },
  { relation: 'installs', label: 'Installing now', words: 'devices install it now' },
  { relation: 'fails', label: 'Failed', words: 'devices failed to install it' },
  { relation: 'others', label: 'Other versions', words: 'devices run other versions' },
  { relation: 'unknown', label: 'Unknown version', words: 'devices report no version' },
]

type WhoRunsItProps = { usage: Usage; counts: UsageCounts; packageName: string }

/** The devices of all projects that the person can see, by what they do with the version. Each number lists its devices. */
export function WhoRunsIt({ usage, counts, packageName }: WhoRunsItProps) {
  const row = useRef<HTMLDivElement>(null)
  const widthPx = useWidth(row)
  const stepPx = useIsNarrow() ? STEP_ON_PHONES_PX : STEP_PX
  const parts = CELLS.filter(({ relation }) => counts[relation] > 0)
  const reportCount = reportCountOf(counts)
  const perTick = devicesPerTick(counts.deviceCount, parts.length, Math.floor((widthPx ?? 0) / stepPx) || 1)
  return (
    <section className={`sheet ${styles.panel}`} aria-label="Devices">
      <div className={styles.top}>
        <div className={styles.caption}>
          <h2 className="figure">
            {formatPercent(reportCount === 0 ? 0 : counts.runs / reportCount)}{' '}
            <small>of {reporting(reportCount, packageName)} run it</small>
          </h2>
          <span className={`tiny muted ${shared.legend}`}>
            {tickText(perTick)} · {projectText(usage)}
          </span>
        </div>
        <div className={styles.ticks}>
          <div ref={row}>
            {widthPx !== undefined && (
              <TickRow
                parts={parts.map(({ relation }) => ({
                  state: relation,
                  ticks: ticksOf(counts[relation], perTick),
                }))}
              />
            )}
          </div>
        </div>
      </div>
      <dl className={styles.counts}>
        {CELLS.map(({ relation, label, words }) => (
          <div key={relation}>
            <dt className="row help">
              <TickSign state={relation} />
              {label}
            </dt>
            <dd className="figure">
              <CountLink
                count={counts[relation]}
                words={words}
                projects={projectsBy(usage, relation)}
                condition={{ versionId: usage.versionId, is: relation }}
              />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function projectText({ projectCount, countedProjectCount }: Usage): string {
  return projectCount > countedProjectCount
    ? `counted in the ${counted(countedProjectCount, 'project')} with the most devices, of ${formatCount(projectCount)} that you may see`
    : 'projects that you may see'
}
