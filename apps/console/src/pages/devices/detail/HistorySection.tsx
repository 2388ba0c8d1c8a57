import { useSuspenseQuery } from '@tanstack/react-query'
import { formatDuration, formatShare } from '../../../lib/app/format.ts'
import { useIsNarrow } from '../../../lib/app/use-is-narrow.ts'
import { Section } from '../../../ui/app/Section.tsx'
import { SectionBoundary } from '../../../ui/app/SectionBoundary.tsx'
import { Strip } from '../../../ui/Strip.tsx'
import { type ConnectionHistory, HOURS, mergeHours, readHistory } from './connection-hours.ts'
import { connectionsQuery } from './device-queries.ts'

const DAY_LABELS = [1, 2, 3, 4]
const weekday = new Intl.DateTimeFormat('en', { weekday: 'long' })
const shortWeekday = new Intl.DateTimeFormat('en', { weekday: 'short' })

/** Connection history of the last seven days: a row of vertical marks, one for each hour. */
export function HistorySection({ deviceId }: { deviceId: string }) {
  return (
    <Section title="Connection, last 7 days">
      <SectionBoundary what="the connection history">
        <History deviceId={deviceId} />
      </SectionBoundary>
    </Section>
  )
}

function History({ deviceId }: { deviceId: string }) {
  const { data, dataUpdatedAt } = useSuspenseQuery(connectionsQuery(deviceId))
  const isNarrow = useIsNarrow()
  const history = readHistory(data.connections, dataUpdatedAt)
  const hours = isNarrow ? mergeHours(history.hours) : history.hours
  const { share } = history
  if (share === undefined) return <p className="muted">Never connected.</p>
  const period =
    history.recordedSecs < HOURS * 3600 ? `in ${formatDuration(history.recordedSecs)} on record` : ''
  const words = interruptionsOf(history)
  return (
    <>
      <div className="hist">
        <div className="cap">
          <b>{formatShare(share)}</b>
          <span>
            connected {period} · {words}
          </span>
        </div>
      </div>
      <Strip
        size="history"
        shares={hours}
        label={`Connected ${formatShare(share)} ${period || 'of the last 7 days'}, ${words}`}
      />
      <div className="hist" aria-hidden="true">
        <div className="axis">
          <span>7 days ago</span>
          {DAY_LABELS.map(label => (
            <span key={label}>
              {shortWeekday.format(dataUpdatedAt - HOURS * 3_600_000 * (1 - label / (DAY_LABELS.length + 1)))}
            </span>
          ))}
          <span>Now</span>
        </div>
      </div>
    </>
  )
}

function interruptionsOf({ share, interruptions, longest }: ConnectionHistory): string {
  if (!longest) return 'no interruption'
  if (share === 0) return 'never in this time'
  const span = `${formatDuration(longest.secs)} on ${weekday.format(longest.startedAt)}`
  return interruptions === 1 ? `1 interruption, ${span}` : `${interruptions} interruptions, longest ${span}`
}
