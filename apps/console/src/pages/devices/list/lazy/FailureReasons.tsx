import { useActionState } from '../../../../api/queries.ts'
import { counted, formatCount } from '../../../../lib/app/format.ts'
import { Button } from '../../../../ui/Button.tsx'
import type { Where } from '../../predicate/read-where.ts'
import type { DeviceSearch } from '../../shared/device-search.ts'
import { devicesInput } from '../devices-input.ts'
import styles from './FailureReasons.module.css'

/** Maximum number of reasons in the row. The others are many and rare. */
const MOST = 6

type FailureReasonsProps = {
  projectId: string
  search: DeviceSearch
  /** Filter of the search parameter `where`. */
  where: Where['filter'] | undefined
  onChange: (next: { error: string | undefined }) => void
}

/** Reasons of the failed updates among the devices of the list, most frequent first. A click lists the devices with one reason. */
export function FailureReasons({ projectId, search, where, onChange }: FailureReasonsProps) {
  const { filter } = devicesInput(projectId, { ...search, error: undefined, target: undefined }, where)
  const { data } = useActionState(
    'projects_QueryPropertyValues',
    { projectId, property: '#updateError', filter, limit: MOST },
    { keepPrevious: true },
  )
  if (!data) return <p className={`muted wrap ${styles.reasons}`}>Counting reasons…</p>
  if (data.tookTooLong)
    return <p className={`muted wrap ${styles.reasons}`}>Reasons: not counted within 2 s.</p>
  const others = data.distinctCount - data.values.length
  return (
    <fieldset className={`wrap ${styles.reasons}`}>
      <legend className="visually-hidden">Reasons of failed updates</legend>
      {data.values.map(({ value, deviceCount }) => {
        const reason = String(value)
        const isChosen = search.error === reason
        return (
          <Button
            key={reason}
            size="sm"
            aria-pressed={isChosen}
            title={reason}
            onClick={() => onChange({ error: isChosen ? undefined : reason })}
          >
            <bdi className={styles.reason}>{reason}</bdi>{' '}
            <b className="tabular">{formatCount(deviceCount)}</b>
          </Button>
        )
      })}
      <span className="muted">
        {[
          others > 0 && counted(others, 'other reason'),
          data.absentCount > 0 && `${formatCount(data.absentCount)} without a reason`,
          data.devicesRead === MOST_READ && `counted in the newest ${formatCount(MOST_READ)}`,
        ]
          .filter(Boolean)
          .join(', ')}
      </span>
    </fieldset>
  )
}

/** Number of devices that the hub reads for the reasons at most (docs/api.md 1.9). */
const MOST_READ = 2_000
