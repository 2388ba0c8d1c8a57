import { useVirtualizer } from '@tanstack/react-virtual'
import { History, Lock } from 'lucide-react'
import { useMemo, useRef, useState } from 'react'
import { useAction, useActionState } from '../../api/queries.ts'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { copyTextOf, JsonValue } from '../../ui/JsonValue.tsx'
import { SearchBox } from '../../ui/SearchBox.tsx'
import { Section } from '../../ui/Section.tsx'
import { SectionBoundary } from '../../ui/SectionBoundary.tsx'
import { Time } from '../../ui/Time.tsx'
import { PropertyHistoryDialog } from './PropertyHistoryDialog.tsx'
import { compareNames, type Properties } from './well-known.ts'

const FILTER_FROM = 21
const VIRTUAL_FROM = 201
const ROW_HEIGHT = 41

type Property = Properties[string]

type OnHistory = { onHistory: (name: string) => void }

/** Every property of a device by key, those with sections of their own included. */
export function PropertiesSection({ deviceId }: { deviceId: string }) {
  const { data } = useActionState('devices_QueryProperties', { deviceId })
  const [text, setText] = useState('')
  // Kept here, so that the dialog outlives its row: a removed property leaves the list.
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
  const { properties } = useAction('devices_QueryProperties', { deviceId })
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
    return <VirtualProperties key={needle} properties={shown} onHistory={onHistory} />
  return (
    <ul>
      {shown.map(property => (
        <li key={property.name} className="prop">
          <PropertyCells property={property} onHistory={onHistory} />
        </li>
      ))}
    </ul>
  )
}

/** Long lists scroll in a box of their own, so that the sections below stay within reach. */
function VirtualProperties({ properties, onHistory }: { properties: Property[] } & OnHistory) {
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
            <PropertyCells property={properties[index]!} onHistory={onHistory} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function PropertyCells({
  property: { name, value, protected: isProtected, lastUpdated },
  onHistory,
}: {
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
        <JsonValue value={value} />
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
        <CopyButton text={copyTextOf(value)} label={`Copy value of ${name}`} />
      </span>
    </>
  )
}
