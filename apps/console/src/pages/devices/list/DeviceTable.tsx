import {
  Fragment,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { useShortcut } from '../../../lib/app/shortcuts.ts'
import { useIsNarrow } from '../../../lib/app/use-is-narrow.ts'
import { useLongPress } from '../../../lib/app/use-long-press.ts'
import { useShownFirst } from '../../../lib/app/use-shown-first.ts'
import { useStable } from '../../../lib/app/use-stable.ts'
import { useWidth } from '../../../lib/app/use-width.ts'
import { nameWidth } from '../../../ui/app/CutMiddle.tsx'
import { ActionsHead } from '../../../ui/app/column-heads.tsx'
import { TimesTogether } from '../../../ui/app/Time.tsx'
import { Gap, useVirtualRows } from '../../../ui/app/virtual-rows.tsx'
import { ColumnHead } from './ColumnHead.tsx'
import { propertyColumn, propertyOf } from './column-ids.ts'
import type { ColumnView } from './column-view.ts'
import columnStyles from './columns.module.css'
import { columnOf } from './columns.tsx'
import { DeviceRowView } from './DeviceRowView.tsx'
import styles from './device-table.module.css'
import { useDeviceTable } from './device-table.ts'
import type { Selection } from './selection.ts'
import type { DeviceRow } from './use-device-list.ts'

const ROW_HEIGHT = 44
/** On phones each row is a card. Its height in pixels without properties that the person added, as in columns.module.css. */
const CARD_HEIGHT = 64
/** Height in pixels of the line of a card with the labels of the device, as in LabelChips.module.css. */
const CARD_LABELS_HEIGHT = 24
/** Height in pixels of the line of a card for one property that the person added as a column. */
const CARD_LINE_HEIGHT = 18
/** Width in pixels of the column of checkboxes. */
const SELECT_PX = 42
/** Width in pixels of the column of buttons. */
const VIEW_PX = 60
/** Width in pixels that a cell has for its text and for the padding, which is 20. A name is measured before its font has loaded. */
const NAME_PADDING_PX = 24
/** Minimum width of the column Name in pixels, as in columns.module.css. */
const MIN_NAME_PX = 240
/** Parts of the default view that are hidden if the table is too narrow, in this order. columns.module.css has a rule for each. */
const GIVEN_UP = ['space', 'version', 'last', 'update']
/** Number of names that are measured. */
const MEASURED_NAMES = 20
/** Width in pixels of the column Id with whole ids and their copy buttons, as in columns.module.css. */
const WHOLE_ID_PX = 212

// The roles are explicit, because on phones CSS changes `display`, and browsers then drop the implicit table roles.
const TABLE = { role: 'table' }
const GROUP = { role: 'rowgroup' }
const ROW = { role: 'row' }

type DeviceTableProps = {
  devices: readonly DeviceRow[]
  /** Path of the list's page. The path of a device is below it. */
  path: string
  total: number | undefined
  /** Whether the list starts at the first device. If not, the position of its rows is unknown. */
  isFromFirst: boolean
  sort: string
  onSort: (sort: string) => void
  onView: (firstRow: number, lastRow: number) => void
  isBusy: boolean
  view: ColumnView
  /** Whether the view is the default one, perhaps with the last error beside the name. Its columns are hidden one by one where room is short. */
  isDefaultView: boolean
  onColumns: (view: ColumnView) => void
  /** Properties that have a column beside the name because of a condition or of the sort order. */
  matched: readonly string[]
  /** Properties that the filter's conditions compare. */
  filtered: readonly string[]
  /** Columns that show a member of a JSON property, such as `a.b`, on the first page of devices. */
  memberPaths: readonly string[]
  selection: Selection
  /** Whether a phone shows the checkboxes. */
  isSelecting: boolean
  onSelecting: () => void
  /** Called with a label that a person has clicked in a row. */
  onLabel: (key: string, value: string) => void
  /** Replaces the rows: skeleton rows while the devices load, or a text when no device matches. Gets the number of columns. */
  children: (columnCount: number) => ReactNode
}

/** The device list as a table. Above 200 rows only the rows near the viewport are rendered. */
export function DeviceTable({
  devices,
  path,
  total,
  isFromFirst,
  sort,
  onSort,
  onView,
  isBusy,
  view,
  isDefaultView,
  onColumns,
  matched,
  filtered,
  memberPaths,
  selection,
  isSelecting,
  onSelecting,
  onLabel,
  children,
}: DeviceTableProps) {
  const element = useRef<HTMLTableElement>(null)
  const isNarrow = useIsNarrow()
  const table = useDeviceTable({
    devices,
    view,
    onView: onColumns,
    matched,
    selection: selection.rowIds,
    onSelection: selection.setRowIds,
  })
  const columns = table.getVisibleLeafColumns()
  const idsText = columns.map(({ id }) => id).join('\n')
  // The array stays the same object until a column changes. Otherwise all rows would render when a width or the selection changes.
  const columnIds = useMemo(() => idsText.split('\n'), [idsText])
  const columnCount = columnIds.length + 2
  const propertyCount = columnIds.filter(id => propertyOf(id) !== undefined).length

  const hasLabels = devices.some(({ labels }) => labels)
  const virtual = useVirtualRows({
    table: element,
    count: devices.length,
    rowHeight: isNarrow
      ? CARD_HEIGHT + propertyCount * CARD_LINE_HEIGHT + Number(hasLabels) * CARD_LABELS_HEIGHT
      : ROW_HEIGHT,
    keyOf: index => devices[index]!.deviceId,
  })
  const { startIndex, endIndex } = virtual.range
  useEffect(() => {
    if (devices.length > 0) onView(startIndex, Math.min(endIndex, devices.length - 1))
  }, [devices, startIndex, endIndex, onView])

  const onChip = useStable(onLabel)
  const { isAll, selectRows } = selection
  const onSelect = useStable((deviceId: string, event: unknown) => {
    // Deselecting a row while all matches are selected goes back to the rows that were selected one by one.
    if (isAll) selectRows()
    table.getRow(deviceId).getToggleSelectedHandler()(event)
  })
  useShortcut('x', 'Select the row', () => selectFocused(false))
  useShortcut('X', 'Select up to the row', () => selectFocused(true))
  function selectFocused(shiftKey: boolean) {
    const index = document.activeElement?.closest<HTMLElement>('tr[data-index]')?.dataset.index
    const device = index === undefined ? undefined : devices[Number(index)]
    if (!device) return false
    onSelect(device.deviceId, { shiftKey, target: { checked: !selection.rowIds[device.deviceId] } })
  }

  const longPress = useLongPress(target => {
    const index = target.closest<HTMLElement>('tr[data-index]')?.dataset.index
    const device = index === undefined ? undefined : devices[Number(index)]
    if (!device) return
    onSelecting()
    onSelect(device.deviceId, { target: { checked: true } })
  })

  const longest = useMemo(
    () =>
      Object.fromEntries(
        columnIds.map(id => {
          const { words } = columnOf(id)
          return [id, words && longestOf(devices, words)]
        }),
      ),
    [devices, columnIds],
  )
  const roomPx = useWidth(element)
  const widthPx = columns.reduce((sum, column) => sum + column.getSize(), SELECT_PX + VIEW_PX)
  const isBroad = !isDefaultView && !isNarrow && roomPx !== undefined && widthPx > roomPx
  const nameWidthPx = view.widths.name
  const givenUp = useGivenUp(element, isDefaultView && !isNarrow, `${roomPx} ${JSON.stringify(longest)}`)
  // Whole ids are worth less than a column or space between columns.
  const hasWholeIds = useWholeIds(element, columnIds, devices, roomPx) && givenUp.length === 0
  const head = { sort, onSort }
  const isEverySelected = isAll || (devices.length > 0 && table.getIsAllRowsSelected())
  return (
    <table
      {...TABLE}
      ref={element}
      className={`table ${columnStyles.devices} ${styles.table}${isDefaultView ? ` ${columnStyles.standard}` : ''}${hasWholeIds ? ` ${columnStyles.wholeIds}` : ''}${isBroad ? ` ${styles.broad}` : ''}${isSelecting ? ` ${styles.selecting}` : ''}`}
      style={isBroad ? { width: widthPx } : undefined}
      data-without={isDefaultView && !isNarrow ? givenUp.join(' ') : undefined}
      data-on-phones="cards"
      data-sticky-head
      aria-busy={isBusy}
      aria-rowcount={isFromFirst && total !== undefined ? total + 1 : -1}
      onFocus={virtual.onFocus}
      onBlur={virtual.onBlur}
      {...longPress}
    >
      <caption className="visually-hidden">Devices</caption>
      <colgroup>
        <col className={styles.selectColumn} />
        {columns.map(column => (
          <col
            key={column.id}
            style={
              isDefaultView || (column.id === 'name' && !nameWidthPx && !isBroad)
                ? undefined
                : {
                    width:
                      hasWholeIds && column.id === 'deviceId' && !view.widths.deviceId
                        ? WHOLE_ID_PX
                        : column.getSize(),
                  }
            }
          />
        ))}
        <col />
      </colgroup>
      <thead {...GROUP}>
        <tr {...ROW} aria-rowindex={isFromFirst ? 1 : undefined}>
          <th scope="col" className={styles.select}>
            <SelectAll
              isSelected={isEverySelected}
              isPartly={!isEverySelected && table.getIsSomeRowsSelected()}
              disabled={devices.length === 0}
              onChange={isSelected => {
                if (isAll) selection.clear()
                else table.toggleAllRowsSelected(isSelected)
              }}
            />
          </th>
          {columns.map(column => (
            <ColumnHead
              key={column.id}
              {...head}
              column={column}
              isMatched={matched.some(path => propertyColumn(path) === column.id && filtered.includes(path))}
              isMember={memberPaths.some(path => propertyColumn(path) === column.id)}
              longest={isDefaultView ? longest[column.id] : undefined}
            />
          ))}
          <ActionsHead />
        </tr>
      </thead>
      <tbody {...GROUP}>
        <TimesTogether>
          {children(columnCount) ??
            virtual.items.map(({ index, gap }) => {
              const device = devices[index]!
              return (
                <Fragment key={device.deviceId}>
                  <Gap height={gap} columns={columnCount} />
                  <DeviceRowView
                    ref={virtual.measure}
                    device={device}
                    href={`${path}/${device.deviceId}`}
                    columnIds={columnIds}
                    onLabel={onChip}
                    isSelected={isAll || selection.rowIds[device.deviceId] === true}
                    onSelect={onSelect}
                    index={index}
                    rowIndex={isFromFirst ? index + 2 : undefined}
                  />
                </Fragment>
              )
            })}
          {devices.length > 0 && <Gap height={virtual.gapAtEnd} columns={columnCount} />}
        </TimesTogether>
      </tbody>
    </table>
  )
}

/**
 * The part of `GIVEN_UP` for which the default view has no room beside the words of its columns. It is found again when `key` changes, which
 * names the room and the longest words. The column of buttons would be cut off otherwise.
 */
function useGivenUp(
  table: RefObject<HTMLTableElement | null>,
  isOn: boolean,
  key: string,
): readonly string[] {
  const [found, setFound] = useState({ key, level: 0 })
  const level = found.key === key ? found.level : 0
  useLayoutEffect(() => {
    const element = table.current
    const panel = element?.parentElement
    if (!isOn || level === GIVEN_UP.length || !element || !panel) return
    const look = () => {
      // Words are wider until their font has loaded.
      const hasFont = document.fonts.check(`14px ${getComputedStyle(element).fontFamily}`)
      if (hasFont && element.offsetWidth > panel.clientWidth) setFound({ key, level: level + 1 })
    }
    look()
    const observer = new ResizeObserver(look)
    observer.observe(element)
    document.fonts.addEventListener('loadingdone', look)
    return () => {
      observer.disconnect()
      document.fonts.removeEventListener('loadingdone', look)
    }
  }, [table, isOn, key, level])
  return GIVEN_UP.slice(0, level)
}

/** Whether the list has room for whole ids: all names are whole beside them. */
function useWholeIds(
  table: RefObject<HTMLTableElement | null>,
  columnIds: readonly string[],
  devices: readonly DeviceRow[],
  roomPx: number | undefined,
): boolean {
  const [isWhole, setWhole] = useState(false)
  // The widest name is one of those with the most characters.
  const longest = useMemo(
    () =>
      devices
        .map(({ name, hostname }) => name ?? `unnamed ${hostname ?? ''}`)
        .sort((a, b) => b.length - a.length)
        .slice(0, MEASURED_NAMES),
    [devices],
  )
  useLayoutEffect(() => {
    const [nameHead, idHead] = [columnStyles.name, columnStyles.id].map(column =>
      table.current?.querySelector<HTMLElement>(`th.${column}`),
    )
    if (!nameHead || !idHead || !columnIds.includes('deviceId') || roomPx === undefined)
      return setWhole(false)
    // The sum of both columns is the same with whole ids and with cut ones.
    const sparePx = nameHead.offsetWidth + idHead.offsetWidth - WHOLE_ID_PX
    setWhole(sparePx >= Math.max(MIN_NAME_PX, ...longest.map(name => nameWidth(name) + NAME_PADDING_PX)))
  }, [table, columnIds, roomPx, longest])
  return isWhole
}

/** Longest of the words of a column in the loaded rows. */
function longestOf(devices: readonly DeviceRow[], words: (device: DeviceRow) => string | undefined): string {
  return devices.map(device => words(device) ?? '').reduce((a, b) => (b.length > a.length ? b : a), '')
}

type SelectAllProps = {
  isSelected: boolean
  isPartly: boolean
  disabled: boolean
  onChange: (isSelected: boolean) => void
}

function SelectAll({ isSelected, isPartly, disabled, onChange }: SelectAllProps) {
  const [isShown, choose] = useShownFirst(isSelected, onChange)
  return (
    <label className={styles.pick}>
      <input
        type="checkbox"
        aria-label="Select all on this list"
        checked={isShown}
        ref={box => {
          if (box) box.indeterminate = isPartly && isShown === isSelected
        }}
        disabled={disabled}
        onChange={event => choose(event.target.checked)}
      />
    </label>
  )
}
