import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { Plus } from 'lucide-react'
import {
  lazy,
  type ReactNode,
  Suspense,
  useDeferredValue,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { formatCount } from '../../../../lib/app/format.ts'
import { useStable } from '../../../../lib/app/use-stable.ts'
import { loadCode } from '../../../../lib/load-code.ts'
import { SearchBox } from '../../../../ui/app/SearchBox.tsx'
import { Section } from '../../../../ui/app/Section.tsx'
import { Button } from '../../../../ui/Button.tsx'
import { SectionBoundary } from '../../../../ui/lazy/SectionBoundary.tsx'
import { actorsQuery, propertiesQuery } from '../device-queries.ts'
import shared from '../sections.module.css'
import { compareNames, type Properties } from '../well-known.ts'
import { type Opened, PropertyRow, RemovedRow } from './PropertyRow.tsx'
import styles from './properties.module.css'
import { searchText } from './search-text.ts'
import { usePins } from './use-pins.ts'
import { useRowShortcuts } from './use-row-shortcuts.ts'

const NewPropertyDialog = lazy(async () => ({
  default: (await loadCode(() => import('./NewPropertyDialog.tsx'))).NewPropertyDialog,
}))

/** Minimum number of properties for a search box above the list. */
const SEARCH_FROM = 8
/** Minimum number of properties for which only the properties in view are rendered. */
const VIRTUAL_FROM = 201
const ROW_HEIGHT = 41
const NO_ACTORS: Properties = {}
/** Prefix of the keys in `opened` for rows in the block of pinned properties. Names of properties contain no blanks. */
const PINNED = 'pinned '

/** A property, or the name of a removed property whose past values are still shown. */
type Item = Properties[string] | { name: string }

/** All properties of a device by key, including those that other sections show. They can be searched, edited and set. */
export function PropertiesSection({ projectId, deviceId }: { projectId: string; deviceId: string }) {
  const { data } = useQuery(propertiesQuery(deviceId))
  const [text, setText] = useState('')
  const [isAdding, setAdding] = useState(false)
  const count = data && Object.keys(data.properties).length
  const hasSearch = count !== undefined && count >= SEARCH_FROM
  const needle = useDeferredValue(hasSearch ? text.trim().toLowerCase() : '')
  return (
    <Section
      id="props"
      className={styles.section}
      title="Properties"
      count={count}
      padded={false}
      aside={
        <>
          {hasSearch && (
            <SearchBox
              value={text}
              onChange={setText}
              label="Search keys and values"
              placeholder="Search keys and values"
            />
          )}
          {data && (
            <Button size="sm" icon={Plus} onClick={() => setAdding(true)}>
              Set Property
            </Button>
          )}
        </>
      }
    >
      <SectionBoundary what="properties">
        <PropertyList projectId={projectId} deviceId={deviceId} needle={needle} onClear={() => setText('')} />
      </SectionBoundary>
      {isAdding && (
        <Suspense>
          <NewPropertyDialog deviceId={deviceId} onClose={() => setAdding(false)} />
        </Suspense>
      )}
    </Section>
  )
}

type PropertyListProps = { projectId: string; deviceId: string; needle: string; onClear: () => void }

function PropertyList({ projectId, deviceId, needle, onClear }: PropertyListProps) {
  const { properties } = useSuspenseQuery(propertiesQuery(deviceId)).data
  const actors = useQuery(actorsQuery(deviceId)).data?.properties ?? NO_ACTORS
  const { pins, projectPins, toggle } = usePins(projectId)
  useRowShortcuts()
  const all = useMemo(
    () => Object.values(properties).sort((a, b) => compareNames(a.name, b.name)),
    [properties],
  )
  // Open rows are kept here by name, because rows outside of the viewport are unmounted. A property may be removed while its row is open.
  const [opened, setOpened] = useState<Readonly<Record<string, Opened>>>({})
  const found = useMemo(() => {
    const matching = needle ? all.filter(property => searchText(property).includes(needle)) : all
    const removed = Object.keys(opened).filter(
      name => opened[name] === 'past' && !name.startsWith(PINNED) && !Object.hasOwn(properties, name),
    )
    if (removed.length === 0) return matching
    return [...matching, ...removed.map(name => ({ name }))].sort((a, b) => compareNames(a.name, b.name))
  }, [all, needle, opened, properties])
  const open = useStable((rowKey: string, next: Opened | undefined) =>
    setOpened(({ [rowKey]: _, ...others }) => ({ ...others, ...(next && { [rowKey]: next }) })),
  )
  const pin = useStable(toggle)
  if (found.length === 0) {
    return (
      <div className="inset">
        <p className="muted row">
          {all.length === 0 ? 'No properties reported.' : 'No key and no value matches this search.'}
          {all.length > 0 && (
            <Button variant="ghost" size="sm" onClick={onClear}>
              Clear
            </Button>
          )}
        </p>
      </div>
    )
  }
  const changedBy = (name: string) => (Object.hasOwn(actors, name) ? actors[name]!.changedBy : undefined)
  const row = (item: Item) =>
    'value' in item ? (
      <PropertyRow
        deviceId={deviceId}
        property={item}
        changedBy={changedBy(item.name)}
        isPinned={pins.includes(item.name)}
        onPin={pin}
        opened={opened[item.name]}
        rowKey={item.name}
        onOpen={open}
      />
    ) : (
      <RemovedRow deviceId={deviceId} name={item.name} onClose={() => open(item.name, undefined)} />
    )
  // The person's own pins are listed before the pins of the project.
  const labels = new Map(projectPins.map(({ name, label }) => [name, label]))
  const pinned = needle
    ? []
    : [...new Set([...pins, ...labels.keys()])].flatMap(name =>
        Object.hasOwn(properties, name) ? properties[name]! : [],
      )
  return (
    <>
      {pinned.length > 0 && (
        <>
          <h3 className={styles.group}>Pinned</h3>
          <ul>
            {pinned.map(property => {
              // A pinned property is also in the list below. The two rows open and close independently.
              const key = `${PINNED}${property.name}`
              return (
                <li key={key} className={classOf(opened[key])} data-row>
                  <PropertyRow
                    deviceId={deviceId}
                    property={property}
                    changedBy={changedBy(property.name)}
                    label={labels.get(property.name)}
                    isPinned={pins.includes(property.name)}
                    onPin={pin}
                    opened={opened[key]}
                    rowKey={key}
                    onOpen={open}
                  />
                </li>
              )
            })}
          </ul>
          <h3 className={styles.group}>By key</h3>
        </>
      )}
      {found.length >= VIRTUAL_FROM ? (
        <VirtualProperties needle={needle} properties={found} row={row} />
      ) : (
        <ul>
          {found.map(property => (
            <li key={property.name} className={classOf(opened[property.name])} data-row>
              {row(property)}
            </li>
          ))}
        </ul>
      )}
      {needle !== '' && (
        <p className={`muted ${shared.foot}`}>
          {formatCount(found.length)} of {formatCount(all.length)} match.
        </p>
      )}
    </>
  )
}

function classOf(opened: Opened | undefined): string {
  return opened === 'past' ? `${styles.row} ${styles.opened}` : styles.row
}

type VirtualPropertiesProps = {
  /** Search text. A new text scrolls the box back to its beginning. */
  needle: string
  properties: readonly Item[]
  row: (property: Item) => ReactNode
}

/**
 * A scrolling box for many properties, so that the sections below the box stay within reach. Only the properties in view
 * and 12 more above and below them are rendered.
 */
function VirtualProperties({ needle, properties, row }: VirtualPropertiesProps) {
  const box = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect runs for each new text
  useLayoutEffect(() => {
    box.current?.scrollTo({ top: 0 })
  }, [needle])
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
            className={styles.row}
            data-row
            style={{ position: 'absolute', insetInline: 0, top: start }}
          >
            {row(properties[index]!)}
          </li>
        ))}
      </ul>
    </section>
  )
}
