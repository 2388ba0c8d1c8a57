import {
  columnOrderingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  functionalUpdate,
  rowSelectionFeature,
  tableFeatures,
  type Updater,
  useTable,
} from '@tanstack/react-table'
import { useMemo } from 'react'
import { COLUMN_IDS, propertyColumn } from './column-ids.ts'
import type { ColumnView } from './column-view.ts'
import { columnOf } from './columns.tsx'
import type { DeviceRow } from './use-device-list.ts'

const features = tableFeatures({
  columnOrderingFeature,
  columnSizingFeature,
  columnVisibilityFeature,
  rowSelectionFeature,
})

/** Minimum width of a column, in pixels. */
export const MIN_WIDTH_PX = 64
/** Maximum width of a column, in pixels. */
export const MAX_WIDTH_PX = 800

/** Ids of selected devices. */
export type RowSelection = Record<string, true>

type DeviceTableOptions = {
  devices: readonly DeviceRow[]
  view: ColumnView
  onView: (view: ColumnView) => void
  /** Properties of the filter's conditions and of the sort order. Their values are shown beside the device's name. */
  matched: readonly string[]
  selection: RowSelection
  onSelection: (selection: RowSelection) => void
}

/** The table model of the device list: visible columns in their order, their widths, and the selected rows. */
export function useDeviceTable({
  devices,
  view,
  onView,
  matched,
  selection,
  onSelection,
}: DeviceTableOptions) {
  const state = useMemo(() => {
    const chosen = new Set(view.columns)
    const beside = matched.map(propertyColumn).filter(id => !chosen.has(id))
    const hidden = COLUMN_IDS.filter(id => id !== 'name' && !chosen.has(id))
    return {
      columnOrder: ['name', ...beside, ...view.columns, ...hidden],
      columnVisibility: Object.fromEntries(hidden.map(id => [id, false])),
    }
  }, [view.columns, matched])
  const columns = useMemo(
    () =>
      state.columnOrder.map(id => ({
        id,
        size: columnOf(id).widthPx,
        minSize: MIN_WIDTH_PX,
        maxSize: MAX_WIDTH_PX,
      })),
    [state.columnOrder],
  )
  return useTable({
    features,
    columns,
    data: devices as DeviceRow[],
    getRowId: device => device.deviceId,
    state: { ...state, columnSizing: view.widths, rowSelection: selection },
    onRowSelectionChange: (updater: Updater<RowSelection>) =>
      onSelection(functionalUpdate(updater, selection)),
    onColumnSizingChange: (updater: Updater<Record<string, number>>) =>
      onView({ ...view, widths: functionalUpdate(updater, view.widths) }),
    onColumnOrderChange: (updater: Updater<string[]>) => {
      const order = functionalUpdate(updater, state.columnOrder)
      const shown = new Set(view.columns)
      onView({ ...view, columns: order.filter(id => shown.has(id)) })
    },
    onColumnVisibilityChange: (updater: Updater<Record<string, boolean>>) => {
      const isVisible = functionalUpdate(updater, state.columnVisibility)
      const beside = new Set(matched.map(propertyColumn))
      const ids = state.columnOrder.filter(id => id !== 'name' && isVisible[id] !== false)
      onView({ ...view, columns: ids.filter(id => view.columns.includes(id) || !beside.has(id)) })
    },
  })
}

/** Type of the table model, for the parts that change it. */
export type DeviceTableModel = ReturnType<typeof useDeviceTable>
