import { type ActionInput, MAX_LISTED_DEVICES } from '@muster/actions/client'
import { useState } from 'react'
import { useActionState } from '../../../api/queries.ts'
import type { RowSelection } from './device-table.ts'
import type { DeviceRow } from './use-device-list.ts'

type Filter = ActionInput<'projects_QueryDevices'>['filter']

/** Devices that an action of the list affects: named by their ids, or all that match the filter when the action begins. */
type Selected =
  | { kind: 'ids'; deviceIds: string[] }
  | { kind: 'filter'; filter: NonNullable<Filter>; count: number }

type SelectionOptions = {
  projectId: string
  devices: readonly DeviceRow[]
  filter: Filter
  /** Number of devices that match the filter; `undefined` while they are counted. */
  total: number | undefined
}

/**
 * Selected devices of the list. They stay selected while the filter changes, but actions affect only the selected devices that still match.
 */
export function useSelection({ projectId, devices, filter, total }: SelectionOptions) {
  const filterKey = JSON.stringify(filter ?? {})
  const [rows, setRows] = useState<{ ids: RowSelection; filterKey: string }>({ ids: {}, filterKey })
  /** Filter, as JSON, if all devices that match it are selected. A change of the filter ends this selection. */
  const [allOf, setAllOf] = useState<string>()
  const isAll = allOf === filterKey
  const ids = Object.keys(rows.ids)

  const loaded = new Set<string>(devices.map(({ deviceId }) => deviceId))
  const unseen = rows.filterKey === filterKey ? [] : ids.filter(id => !loaded.has(id))
  const found = useActionState(
    'projects_QueryDevices',
    {
      projectId,
      filter: { ...filter, deviceIds: unseen.slice(0, MAX_LISTED_DEVICES) as DeviceRow['deviceId'][] },
      limit: MAX_LISTED_DEVICES,
      countTotal: false,
    },
    { enabled: unseen.length > 0 && !isAll },
  ).data
  const gone = new Set<string>(unseen)
  for (const device of found?.devices ?? []) gone.delete(device.deviceId)
  const matching = ids.filter(id => !gone.has(id))

  return {
    rowIds: rows.ids,
    setRowIds: (next: RowSelection) => {
      // Rows that do not match the new filter stay selected until the selection changes.
      const kept = Object.keys(next).filter(id => !gone.has(id))
      setRows({ ids: Object.fromEntries(kept.map(id => [id, true as const])), filterKey })
    },
    isAll,
    /** Number of selected devices, matching or not. */
    count: isAll ? (total ?? 0) : ids.length,
    /** Number of selected devices that match the filter. */
    matchCount: isAll ? (total ?? 0) : matching.length,
    idCount: ids.length,
    selected: (isAll
      ? { kind: 'filter', filter: filter ?? {}, count: total ?? 0 }
      : { kind: 'ids', deviceIds: matching }) satisfies Selected as Selected,
    selectAll: () => setAllOf(filterKey),
    selectRows: () => setAllOf(undefined),
    clear: () => {
      setAllOf(undefined)
      setRows({ ids: {}, filterKey })
    },
  }
}

/** Selection of the device list and the functions that change it. */
export type Selection = ReturnType<typeof useSelection>
