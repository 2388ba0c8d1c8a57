import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { History, Lock } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import { useActionState } from '../../../api/queries.ts'
import { formatBytes } from '../../../lib/app/format.ts'
import { ErrorAlert } from '../../../ui/Alert.tsx'
import { copyTextOf, JsonValue } from '../../../ui/app/JsonValue.tsx'
import { SearchBox } from '../../../ui/app/SearchBox.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import { SectionBoundary } from '../../../ui/app/SectionBoundary.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { Button } from '../../../ui/Button.tsx'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { propertiesQuery } from './device-queries.ts'
import { PropertyHistoryDialog } from './PropertyHistoryDialog.tsx'
import { compareNames, type Properties } from './well-known.ts'

const FILTER_FROM = 21
const VIRTUAL_FROM = 201
const ROW_HEIGHT = 41

type Property = Properties[string]

type OnHistory = { onHistory: (name: string) => void }

/** All properties of a device by key, including those that other sections show. */
export function PropertiesSection({ deviceId }: { deviceId: string }) {
  const { data } = useQuery(propertiesQuery(deviceId))
  const [text, setText] = useState('')
  // The name of the property in the history dialog is kept here, so that the dialog stays open when the property is removed
  // and leaves the list.
  const [historyOf, setHistoryOf] = useState<string>()
  const hasFilter = data !== undefined && Object.keys(data.properties).length >= FILTER_FROM
  return (
    <Section
      id="props"
      title="Properties"
      padded={false}
      aside={
        hasFilter && (
          <SearchBox value={text} onChange={setText} label="Filter properties" placeholder="Filter keys" />
        )
      }
    >
      <SectionBoundary what="properties">
        <PropertyList
          deviceId={deviceId}
          needle={hasFilter ? text.trim().toLowerCase() : ''}
          onHistory={setHistoryOf}
        />
      </SectionBoundary>
      {historyOf !== undefined && (
        <PropertyHistoryDialog deviceId={deviceId} name={historyOf} onClose={() => setHistoryOf(undefined)} />
      )}
    </Section>
  )
}

function PropertyList({ deviceId, needle, onHistory }: { deviceId: string; needle: string } & OnHistory) {
  const { properties } = useSuspenseQuery(propertiesQuery(deviceId)).data
  const all = useMemo(
    () => Object.values(properties).sort((a, b) => compareNames(a.name, b.name)),
    [properties],
  )
  const shown = needle ? all.filter(({ name }) => name.toLowerCase().includes(needle)) : all
  if (shown.length === 0) {
    return (
      <div className="in">
        <p className="muted">
          {all.length === 0 ? 'No properties reported.' : 'No key matches this filter.'}
        </p>
      </div>
    )
  }
  if (shown.length >= VIRTUAL_FROM)
    return <VirtualProperties key={needle} deviceId={deviceId} properties={shown} onHistory={onHistory} />
  return (
    <ul>
      {shown.map(property => (
        <li key={property.name} className="prop">
          <PropertyCells deviceId={deviceId} property={property} onHistory={onHistory} />
        </li>
      ))}
    </ul>
  )
}

/**
 * A scrolling box for many properties, so that the sections below the box stay within reach. Only the properties in view
 * and 12 more above and below them are rendered.
 */
function VirtualProperties({
  deviceId,
  properties,
  onHistory,
}: { deviceId: string; properties: Property[] } & OnHistory) {
  const box = useRef<HTMLElement>(null)
  const rows = useVirtualizer({
    count: properties.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT,
    getItemKey: index => properties[index]!.name,
    overscan: 12,
  })
  return (
    <section
      ref={box}
      aria-label="Properties by key"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      style={{ maxHeight: 'min(70vh, 720px)', overflowY: 'auto' }}
    >
      <ul style={{ position: 'relative', height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ key, index, start }) => (
          <li
            key={key}
            ref={rows.measureElement}
            data-index={index}
            aria-setsize={properties.length}
            aria-posinset={index + 1}
            className="prop"
            style={{ position: 'absolute', insetInline: 0, top: start }}
          >
            <PropertyCells deviceId={deviceId} property={properties[index]!} onHistory={onHistory} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function PropertyCells({
  deviceId,
  property: { name, value, protected: isProtected, lastUpdated, isCut = false, valueBytes = 0 },
  onHistory,
}: {
  deviceId: string
  property: Property
} & OnHistory) {
  return (
    <>
      <span className="k">
        {isProtected && <Lock className="i" aria-hidden />}
        <span>
          {name}
          {isProtected && <span className="muted"> protected</span>}
        </span>
      </span>
      <div>
        {isCut ? (
          <CutValue deviceId={deviceId} name={name} start={String(value)} sizeBytes={valueBytes} />
        ) : (
          <JsonValue value={value} />
        )}
      </div>
      <span className="when row" style={{ gap: 4 }}>
        <Time at={lastUpdated} />
        <button
          type="button"
          className="copy"
          aria-label={`Past values of ${name}`}
          data-tip="Past values"
          onClick={() => onHistory(name)}
        >
          <History className="i i-14" aria-hidden />
        </button>
        {!isCut && <CopyButton text={copyTextOf(value)} label={`Copy value of ${name}`} />}
      </span>
    </>
  )
}

type CutValueProps = { deviceId: string; name: string; start: string; sizeBytes: number }

const START_CHARS = 300

/** A value that the hub has truncated. A click loads the whole value, which is kept up to date from then on. */
function CutValue({ deviceId, name, start, sizeBytes }: CutValueProps) {
  const [isWanted, setWanted] = useState(false)
  const { data, error, isFetching, refetch } = useActionState(
    'devices_GetProperty',
    { deviceId, name },
    { enabled: isWanted },
  )
  if (data?.result === 'Found') {
    return (
      <>
        <JsonValue value={data.value} open />
        <CopyButton text={copyTextOf(data.value)} label={`Copy value of ${name}`} />
      </>
    )
  }
  return (
    <>
      <pre className="mono json">
        <bdi>{start.slice(0, START_CHARS)}…</bdi>{' '}
        <Button
          variant="ghost"
          size="sm"
          busy={isFetching}
          busyLabel="Loading…"
          onClick={() => (isWanted ? void refetch() : setWanted(true))}
        >
          Show all {formatBytes(sizeBytes)}
        </Button>
      </pre>
      <ErrorAlert title={`Could not load ${name}.`} error={error} />
    </>
  )
}
