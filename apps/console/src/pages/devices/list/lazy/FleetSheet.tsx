import type { ActionOutput } from '@muster/actions/client'
import { Link } from '@tanstack/react-router'
import { formatCount } from '../../../../lib/app/format.ts'
import { useShownFirst } from '../../../../lib/app/use-shown-first.ts'
import { Mark, type MarkState } from '../../../../ui/app/Mark.tsx'
import type { Attention } from '../attention.ts'
import type { DeviceSearch } from '../devices-input.ts'
import { ConnectedArea } from './ConnectedArea.tsx'
import '../../../../styles/fleet-sheet.css'

const DEVICES = '/org_{$organization}/projects/$projectId/devices'

type Summary = ActionOutput<'projects_GetSummary'>

type FleetSheetProps = {
  summary: Summary
  search: DeviceSearch
  onChange: (next: { status?: string | undefined; show?: string | undefined }) => void
}

type Cell = { label: string; mark: MarkState; count: number; of?: number } & (
  | { status: NonNullable<DeviceSearch['status']> }
  | { show: Attention }
)

/** Summary of a project with more than 200 devices: the connected devices of the last 24 h, and six counts that filter the list. */
export function FleetSheet({ summary, search, onChange }: FleetSheetProps) {
  const { deviceCount, connectedCount, pendingCount, connectedSeries } = summary
  const { healthyCount = 0, warningCount = 0, errorCount = 0 } = summary
  const cells: Cell[] = [
    { label: 'Connected', mark: 'on', count: connectedCount, of: deviceCount, status: 'connected' },
    { label: 'Disconnected', mark: 'off', count: deviceCount - connectedCount, status: 'disconnected' },
    { label: 'Pending', mark: 'pending', count: pendingCount, show: 'pending' },
    { label: 'Healthy', mark: 'healthy', count: healthyCount, show: 'healthy' },
    { label: 'Warning', mark: 'warning', count: warningCount, show: 'warning' },
    { label: 'Error', mark: 'error', count: errorCount, show: 'error' },
  ]
  return (
    <section className="sheet fleet24" aria-label="Fleet">
      <ConnectedArea series={connectedSeries} connectedCount={connectedCount} deviceCount={deviceCount} />
      <fieldset className="states">
        <legend className="sr">Filter by connection and health</legend>
        {cells.map(cell => {
          const isOn = 'status' in cell ? search.status === cell.status : search.show === cell.show
          const key = 'status' in cell ? 'status' : 'show'
          const value = 'status' in cell ? cell.status : cell.show
          return (
            <CellButton
              key={cell.label}
              {...cell}
              isOn={isOn}
              onToggle={next => onChange({ [key]: next ? value : undefined })}
            />
          )
        })}
        {pendingCount > 0 && (
          <Link from={DEVICES} to="./pending" className="review">
            Review<span className="sr"> pending certificates</span>
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
      <span className="lbl">
        <Mark state={mark} />
        {label}
      </span>
      {/* Counts are not part of accessible names. */}
      <span className="v" aria-hidden="true">
        {formatCount(count)}
        {of !== undefined && <small> of {formatCount(of)}</small>}
      </span>
    </button>
  )
}
