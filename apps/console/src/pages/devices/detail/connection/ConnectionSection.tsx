import type { ActionInput, ActionOutput } from '@muster/actions/client'
import { queryOptions, useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type CSSProperties, useDeferredValue, useState } from 'react'
import { invoke } from '../../../../api/client.ts'
import { actionQuery, useActionState } from '../../../../api/queries.ts'
import { counted, formatDuration, formatShare } from '../../../../lib/app/format.ts'
import { dayAndMonth, hourAndMinute } from '../../../../lib/app/local-time.ts'
import { usePageSearch } from '../../../../lib/app/search.ts'
import { useIsNarrow } from '../../../../lib/app/use-is-narrow.ts'
import { Section } from '../../../../ui/app/Section.tsx'
import { Segments } from '../../../../ui/app/Segments.tsx'
import { Moment } from '../../../../ui/lazy/Moment.tsx'
import { SectionBoundary } from '../../../../ui/lazy/SectionBoundary.tsx'
import { Skeleton } from '../../../../ui/Skeleton.tsx'
import { Strip } from '../../../../ui/Strip.tsx'
import { cut } from '../cut.ts'
import { connectionsQuery, pastValuesInput } from '../device-queries.ts'
import { deviceSearch } from '../device-search.ts'
import { OTA_STATUS } from '../property-names.ts'
import styles from './ConnectionSection.module.css'
import { mergeTicks } from './connection-ticks.ts'
import { Glyph, Lane } from './Lane.tsx'
import { type Mark, personMarks, updateEntries, updateMarks } from './lanes.ts'
import { RefusedAttempts } from './RefusedAttempts.tsx'
import { axisOf, CONNECTION_RANGES, type ConnectionRange, connectionRangeOf } from './ranges.ts'

/** Maximum number of changes by people that are requested for the time axis. Marks that lie close together are drawn as one. */
const CHANGES_READ = 200

type ConnectionHistory = ActionOutput<'devices_GetConnectionHistory'>

const weekday = new Intl.DateTimeFormat('en', { weekday: 'long' })

/** Greatest place on the axis, as a fraction of its width, where a phone has room for a date. */
const MOST_PLACE = 0.85

type ConnectionSectionProps = {
  deviceId: string
  /** Time when the gravest problem of the device began; undefined if the device has no problem, or while the time is unknown. */
  problemBeganAt: string | undefined
  /** Whether that time may still come. It decides the range, so the history is requested only afterwards. */
  isLoading: boolean
}

/** Time axis of the device's connections, its updates and the changes by people. The person chooses one of three time ranges. */
export function ConnectionSection({ deviceId, problemBeganAt, isLoading }: ConnectionSectionProps) {
  const [{ connection }] = usePageSearch(deviceSearch)
  const navigate = useNavigate()
  const [openedMs] = useState(() => Date.now())
  const range = connectionRangeOf(connection, problemBeganAt, openedMs)
  // Once the history is shown, it stays while a new problem loads.
  const [isShown, setShown] = useState(!isLoading)
  if (!isLoading && !isShown) setShown(true)
  const hasConnected = useQuery(connectionsQuery(deviceId)).data?.connections.length !== 0
  return (
    <Section
      className={styles.section}
      title="Connection"
      aside={
        hasConnected && (
          <Segments
            label="Range"
            value={range.value}
            options={CONNECTION_RANGES}
            onChange={value =>
              void navigate({
                from: '/org_{$organization}/projects/$projectId/devices/$deviceId',
                to: '.',
                search: { connection: value },
                hash: true,
                replace: true,
                resetScroll: false,
              })
            }
          />
        )
      }
    >
      <SectionBoundary what="the connection history">
        {isShown ? (
          <History deviceId={deviceId} range={range} />
        ) : (
          <Skeleton label="Loading the connection history" />
        )}
      </SectionBoundary>
    </Section>
  )
}

function History({ deviceId, range: chosen }: { deviceId: string; range: ConnectionRange }) {
  // The range before stays on screen until the answer for the chosen one has come.
  const range = useDeferredValue(chosen)
  const history = useSuspenseQuery(historyQuery(deviceId, range)).data
  const isNarrow = useIsNarrow()
  const ticks = isNarrow ? mergeTicks(history.ticks) : history.ticks
  const { share } = history
  if (history.tookTooLong) return <p className="muted">The connections were not read within 2 s.</p>
  if (share === undefined) return <NeverConnected deviceId={deviceId} />
  const isPartly = Math.ceil(history.recordedSecs) < (range.ticks * range.tickMs) / 1000
  const period = isPartly ? `in ${formatDuration(history.recordedSecs)} on record` : ''
  const words = interruptionsOf(history, range)
  return (
    <div className={styles.history}>
      <div className={styles.share}>
        <b>{formatShare(share)}</b>
        <span>
          connected {period} · {words}
        </span>
      </div>
      <div className={styles.chart}>
        <span className="tiny muted" aria-hidden="true">
          Connected
        </span>
        <Strip
          size="history"
          shares={ticks.map(tick => tick ?? undefined)}
          label={`Connected ${formatShare(share)} ${period || range.words}, ${words}`}
        />
        <Lanes deviceId={deviceId} range={range} nowMs={Date.parse(history.until)} />
      </div>
      {history.readBackTo !== undefined && (
        <p className="muted">
          Only the last 20,000 connections are read. The first of them began{' '}
          <Moment at={history.readBackTo} />.
        </p>
      )}
    </div>
  )
}

/** Text in place of the history, with the refused attempts. Of those before hubs recorded each attempt, only the last one is known. */
function NeverConnected({ deviceId }: { deviceId: string }) {
  const { lastRefusal: last, refusals = [] } = useActionState('devices_GetDetails', { deviceId }).data ?? {}
  return (
    <>
      <p className="muted">
        Never connected.
        {last && refusals.length === 0 && (
          <>
            {' '}
            The last of {counted(last.count, 'attempt')} was refused <Moment at={last.at} />:{' '}
            <bdi>{cut(last.reason)}</bdi>.
          </>
        )}
        {refusals.length > 0 && ' These are its attempts.'}
      </p>
      <RefusedAttempts refusals={refusals} />
    </>
  )
}

/** Input of the query for the changes by people in a range. */
function changesInput(
  deviceId: string,
  { ticks, tickMs }: ConnectionRange,
): ActionInput<'devices_QueryTimeline'> {
  const withinSecs = (ticks * tickMs) / 1000
  return { deviceId, limit: CHANGES_READ, filter: { kinds: ['person'], withinSecs } }
}

/** Query for the connections in a range. Its first answer also has the changes by people, which have a query of their own from then on. */
function historyQuery(deviceId: string, range: ConnectionRange) {
  const input = { deviceId, ticks: range.ticks, tickSecs: range.tickMs / 1000 }
  const changesKey = actionQuery('devices_QueryTimeline', changesInput(deviceId, range)).queryKey
  return queryOptions<ConnectionHistory>({
    ...actionQuery('devices_GetConnectionHistory', input),
    queryFn: async ({ client, signal }) => {
      if (client.getQueryData(changesKey) === undefined) {
        const both = { ...input, changes: CHANGES_READ }
        const answer = await invoke('devices_GetConnectionHistory', both, { signal }).catch(() => undefined)
        if (answer?.changes) client.setQueryData(changesKey, answer.changes)
        if (answer) return answer
      }
      return invoke('devices_GetConnectionHistory', input, { signal })
    },
  })
}

type LanesProps = { deviceId: string; range: ConnectionRange; nowMs: number }

/** Rows with updates and with changes by people, the time axis, and a legend of the marks that occur. */
function Lanes({ deviceId, range, nowMs }: LanesProps) {
  const span = { fromMs: nowMs - range.ticks * range.tickMs, toMs: nowMs }
  const past = useQuery(
    actionQuery('devices_QueryPropertyHistory', pastValuesInput(deviceId, OTA_STATUS)),
  ).data
  const people = useActionState('devices_QueryTimeline', changesInput(deviceId, range), {
    keepPrevious: true,
  }).data
  const updates = updateMarks(updateEntries(OTA_STATUS, past?.changes ?? []), span)
  const changes = personMarks(people?.entries ?? [], span)
  const looks = new Set<Mark['look']>([...updates, ...changes].map(({ look }) => look))
  return (
    <>
      <Lane name="Updates" empty="No update in this time." marks={updates} />
      <Lane name="Changes" empty="No change by a person in this time." marks={changes} />
      <span />
      <div className={`tiny muted ${styles.dates}`} aria-hidden="true">
        {axisOf(range, nowMs).map(({ text, place }) => (
          <span
            key={text}
            style={{ '--at': `${(place * 100).toFixed(2)}%` } as CSSProperties}
            data-late={place > MOST_PLACE || undefined}
          >
            {text}
          </span>
        ))}
      </div>
      {looks.size > 0 && (
        <p className={`tiny muted wrap ${styles.legend}`} aria-hidden="true">
          {KEY.filter(({ look }) => looks.has(look)).map(({ look, words }) => (
            <span key={look} className="row">
              <Glyph look={look} />
              {words}
            </span>
          ))}
        </p>
      )}
    </>
  )
}

const KEY: { look: Mark['look']; words: string }[] = [
  { look: 'installed', words: 'Installed' },
  { look: 'failed', words: 'Failed' },
  { look: 'person', words: 'Changed by a person' },
]

function interruptionsOf(
  { share, interruptions, longest }: ConnectionHistory,
  { value }: ConnectionRange,
): string {
  if (!longest) return 'no interruption'
  if (share === 0) return 'never in this time'
  const format = value === '24h' ? hourAndMinute : value === '7d' ? weekday.format : dayAndMonth
  const span = `${formatDuration(longest.secs)} ${value === '24h' ? 'from' : 'on'} ${format(Date.parse(longest.startedAt))}`
  return interruptions === 1 ? `1 interruption, ${span}` : `${interruptions} interruptions, longest ${span}`
}
