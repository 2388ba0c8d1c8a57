import { memo, type Ref, Suspense, useState } from 'react'
import { optionalPart } from '../../../lib/app/optional-part.ts'
import { useShownFirst } from '../../../lib/app/use-shown-first.ts'
import { CutMiddle } from '../../../ui/app/CutMiddle.tsx'
import { RowLink } from '../../../ui/app/RowLink.tsx'
import { Unnamed } from '../../../ui/app/Unnamed.tsx'
import { buttonClass } from '../../../ui/Button.tsx'
import deleting from '../deleting/deleting.module.css'
import { type Deletion, useDeletion } from '../shared/deletions.ts'
import { FoundText, fieldWord } from '../shared/FoundText.tsx'
import { propertyOf } from './column-ids.ts'
import columnStyles from './columns.module.css'
import { columnOf } from './columns.tsx'
import styles from './device-table.module.css'
import { type UpdateWords, updateWords } from './update-words.ts'
import type { DeviceRow } from './use-device-list.ts'

const DeletingCells = optionalPart(
  async () => (await import('../deleting/lazy/DeletingRow.tsx')).DeletingCells,
)
const NotDeleted = optionalPart(async () => (await import('../deleting/lazy/DeletingRow.tsx')).NotDeleted)
const LabelChips = optionalPart(async () => (await import('../../labels/shared/LabelChips.tsx')).LabelChips)

// The roles are explicit, because on phones CSS changes `display`, and browsers then drop the implicit table roles.
const ROW = { role: 'row' }
const CELL = { role: 'cell' }

type CellsProps = {
  device: DeviceRow
  /** Path of the device's page. */
  href: string
  /** Ids of the visible columns in their order. */
  columnIds: readonly string[]
  /** Called with a label that a person has clicked. */
  onLabel: (key: string, value: string) => void
  /** The deletion of this device, if the hub refused it. */
  deletion: Deletion | undefined
}

type DeviceRowViewProps = Omit<CellsProps, 'deletion'> & {
  isSelected: boolean
  /** Called with the device's id and the event of its checkbox, whose `shiftKey` selects a range. */
  onSelect: (deviceId: string, event: unknown) => void
  index: number
  rowIndex: number | undefined
  ref: Ref<HTMLTableRowElement> | undefined
}

/** A device in the list. The link of its name covers the row; the other controls lie above the link. */
export const DeviceRowView = memo(function DeviceRowView({
  isSelected,
  onSelect,
  index,
  rowIndex,
  ref,
  ...shown
}: DeviceRowViewProps) {
  const { device, columnIds } = shown
  const { deviceId, name, hostname, pendingCertificatesCount } = device
  const deletion = useDeletion(deviceId)
  const [isShownSelected, select] = useShownFirst(isSelected, (_, event) => onSelect(deviceId, event))
  const row = { ...ROW, ref, 'data-index': index, 'aria-rowindex': rowIndex }
  if (deletion && deletion.state !== 'refused') {
    return (
      <tr {...row} className={deleting.row} data-deleting={deviceId}>
        <td {...CELL} className={styles.select} />
        <Suspense fallback={<td {...CELL} colSpan={columnIds.length + 1} />}>
          <DeletingCells deletion={deletion} columns={columnIds.length + 1} />
        </Suspense>
      </tr>
    )
  }
  return (
    <tr
      {...row}
      className={isShownSelected ? styles.chosen : undefined}
      data-worth={worthOf(pendingCertificatesCount, updateWords(device))}
    >
      <td {...CELL} className={styles.select}>
        <label className={styles.pick}>
          <input
            type="checkbox"
            aria-label={`Select ${name ?? hostname ?? deviceId}`}
            checked={isShownSelected}
            onChange={event => select(event.target.checked, event)}
          />
        </label>
      </td>
      <Cells {...shown} deletion={deletion} />
    </tr>
  )
})

/** Cells behind the checkbox. They are memoized, because a selection changes up to all rows at once. */
const Cells = memo(function Cells({ device, href, columnIds, onLabel, deletion }: CellsProps) {
  const { deviceId, name, hostname, status, labels, match } = device
  const foundIn = match && fieldWord(match)
  // `changes` is the key of the status cell. A new key restarts the cell's animation.
  const [last, setLast] = useState({ status, changes: 0 })
  if (last.status !== status) setLast({ status, changes: last.changes + 1 })
  return (
    <>
      {columnIds.map(id => {
        const { className, label, cell } = columnOf(id)
        if (id === 'name')
          return (
            <td {...CELL} key={id} className={deletion ? `${className} ${deleting.refused}` : className}>
              <div className="row grow" title={name ?? hostname}>
                <RowLink
                  href={href}
                  className={name === undefined ? `name truncated ${columnStyles.whole}` : 'name truncated'}
                  aria-label={name}
                >
                  {name === undefined ? <Unnamed /> : <CutMiddle text={name} />}
                </RowLink>
                {name === undefined && hostname !== undefined && (
                  <span className="truncated">
                    <CutMiddle text={hostname} />
                  </span>
                )}
              </div>
              {match && foundIn !== undefined && match.value !== (name ?? hostname) && (
                <div className="tiny muted truncated" title={`${foundIn}: ${match.value}`}>
                  {foundIn} <FoundText {...match} />
                </div>
              )}
              {labels && (
                <Suspense>
                  <LabelChips labels={labels} columnIds={columnIds} onLabel={onLabel} />
                </Suspense>
              )}
              {deletion && (
                <Suspense>
                  <NotDeleted deletion={deletion} />
                </Suspense>
              )}
            </td>
          )
        const isChanged = id === 'status' && last.changes > 0
        return (
          <td
            {...CELL}
            key={isChanged ? `${id} ${last.changes}` : id}
            className={isChanged ? `${className} just-changed` : className}
            data-k={propertyOf(id) && label.split('.').at(-1)}
          >
            {cell(device)}
          </td>
        )
      })}
      <td {...CELL} className={`end ${styles.view}`}>
        <RowLink href={href} className={buttonClass('ghost', 'sm')}>
          View<span className="visually-hidden"> {name ?? deviceId}</span>
        </RowLink>
      </td>
    </>
  )
})

/** The one cell that a phone shows besides name, status, id and first seen: pending certificates, update or last seen (`data-worth`). */
function worthOf(pendingCount: number, { tone }: UpdateWords): 'pend' | 'upd' | 'last' {
  if (pendingCount > 0) return 'pend'
  return tone === 'plain' ? 'last' : 'upd'
}
