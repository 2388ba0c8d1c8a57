import type { ActionOutput } from '@muster/actions/client'
import { Link } from '@tanstack/react-router'
import { formatCount } from '../../../../lib/app/format.ts'
import { useShownFirst } from '../../../../lib/app/use-shown-first.ts'
import { Mark, type MarkState } from '../../../../ui/app/Mark.tsx'
import type { DeviceSearch } from '../../shared/device-search.ts'
import { ConnectedArea } from './ConnectedArea.tsx'
import styles from './FleetSheet.module.css'

const DEVICES = '/org_{$organization}/projects/$projectId/devices'

type Summary = ActionOutput<'projects_GetSummary'>

type FleetSheetProps = {
  summary: Summary
  search: DeviceSearch
  onChange: (next: Partial<Record<CellKey, string | undefined>>) => void
}

type CellKey = 'status' | 'show' | 'health'
type Cell = { label: string; mark: MarkState; count: number; of?: number; key: CellKey; value: string }

/** Summary of a project with more than 200 devices: the connected devices of the last 24 h, and six counts that filter the list. */
export function FleetSheet({ summary, search, onChange }: FleetSheetProps) {
  const { deviceCount, connectedCount, pendingCount, connectedSeries } = summary
  const { healthyCount = 0, warningCount = 0, errorCount = 0 } = summary
  const cells: Cell[] = [
    {
      label: 'Connected',
      mark: 'on',
      count: connectedCount,
      of: deviceCount,
      key: 'status',
      value: 'connected',
    },
    {
      label: 'Disconnected',
      mark: 'off',
      count: deviceCount - connectedCount,
      key: 'status',
      value: 'disconnected',
    },
    { label: 'Pending', mark: 'pending', count: pendingCount, key: 'show', value: 'pending' },
    { label: 'Healthy', mark: 'healthy', count: healthyCount, key: 'health', value: 'healthy' },
    { label: 'Warning', mark: 'warning', count: warningCount, key: 'health', value: 'warning' },
    { label: 'Error', mark: 'error', count: errorCount, key: 'health', value: 'error' },
  ]
  return (
    <section className={`sheet ${styles.fleet}`} aria-label="Fleet">
      <ConnectedArea series={connectedSeries} connectedCount={connectedCount} deviceCount={deviceCount} />
      <fieldset className={`touch-area ${styles.states}`}>
        <legend className="visually-hidden">Filter by connection and health</legend>
        {cells.map(({ key, value, ...cell }) => (
          <CellButton
            key={cell.label}
            {...cell}
            isOn={search[key] === value}
            onToggle={next => onChange({ [key]: next ? value : undefined })}
          />
        ))}
        {pendingCount > 0 && (
          <Link from={DEVICES} to="./pending">
            Review<span className="visually-hidden"> pending certificates</span>
          </Link>
        )}
      </fieldset>
    </section>
  )
}

type CellButtonProps = Pick<Cell, 'label' | 'mark' | 'count' | 'of'> & {
  isOn: boolean
  onToggle: (isOn: boolean) => void
}

function CellButton({ label, mark, count, of, isOn, onToggle }: CellButtonProps) {
  const [isShownOn, toggle] = useShownFirst(isOn, onToggle)
  return (
    <button type="button" aria-pressed={isShownOn} onClick={() => toggle(!isShownOn)}>
      <span className={`row help ${styles.label}`}>
        <Mark state={mark} />
        {label}
      </span>
      {/* Counts are not part of accessible names. */}
      <span className={`figure ${styles.value}`} aria-hidden="true">
        {formatCount(count)}
        {of !== undefined && <small> of {formatCount(of)}</small>}
      </span>
    </button>
  )
}
