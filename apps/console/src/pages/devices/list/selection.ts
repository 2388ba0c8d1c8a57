import { type ActionInput, MAX_LISTED_DEVICES } from '@muster/actions/client'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { invoke } from '../../../api/client.ts'
import { actionQuery } from '../../../api/queries.ts'
import type { RowSelection } from './device-table.ts'
import type { DeviceRow } from './use-device-list.ts'

type Filter = ActionInput<'projects_QueryDevices'>['filter']

/** Devices that an action of the list affects: named by their ids, or all that match the filter when the action begins. */
type Selected =
  | { kind: 'ids'; deviceIds: string[] }
  | { kind: 'filter'; filter: NonNullable<Filter>; count: number | undefined }

type SelectionOptions = {
  projectId: string
  /** Whether the rows of the list are of the filter before this one. */
  isPlaceholder: boolean
  filter: Filter
  /** Number of devices that match the filter; `undefined` while they are counted, and if they could not be counted. */
  total: number | undefined
}

/**
 * Selected devices of the list. They stay selected while the filter changes, but actions affect only the selected devices that still match.
 */
export function useSelection({ projectId, isPlaceholder, filter, total }: SelectionOptions) {
  const filterKey = JSON.stringify(filter ?? {})
  const [rows, setRows] = useState<{ ids: RowSelection; filterKey: string }>({ ids: {}, filterKey })
  /** Filter, as JSON, if all devices that match it are selected. A change of the filter ends this selection. */
  const [allOf, setAllOf] = useState<string>()
  const isAll = allOf === filterKey
  const ids = Object.keys(rows.ids)

  // The ids of loaded rows are checked too: without them, each refresh of the rows would be another query.
  const unseen = rows.filterKey === filterKey ? [] : ids
  const check = useQuery({
    ...matchesQuery(projectId, filter, unseen),
    enabled: unseen.length > 0 && !isAll && !isPlaceholder,
  })
  const isChecked = unseen.length === 0 || check.data !== undefined
  const found = new Set<string>(check.data?.devices.map(({ deviceId }) => deviceId))
  const gone = new Set<string>(isChecked ? unseen.filter(id => !found.has(id)) : [])
  const matching = ids.filter(id => !gone.has(id))

  return {
    rowIds: rows.ids,
    setRowIds: (chosen: RowSelection) => {
      // Rows that do not match the new filter stay selected until the selection changes.
      const kept = Object.keys(chosen).filter(id => !gone.has(id))
      const next = Object.fromEntries(kept.map(id => [id, true as const]))
      setRows({ ids: next, filterKey: isChecked ? filterKey : UNCHECKED })
    },
    isAll,
    hasSelection: isAll || ids.length > 0,
    /** Whether it is known which of the selected devices match the filter. */
    isChecked: isAll || isChecked,
    /** Error of the query that finds out which of them match. */
    error: check.error,
    /** Number of selected devices, matching or not; `undefined` if all that match are selected, but not counted. */
    count: isAll ? total : ids.length,
    /** Number of selected devices that match the filter; `undefined` as `count`. */
    matchCount: isAll ? total : matching.length,
    idCount: ids.length,
    selected: (isAll
      ? { kind: 'filter', filter: filter ?? {}, count: total }
      : { kind: 'ids', deviceIds: matching }) satisfies Selected as Selected,
    selectAll: () => setAllOf(filterKey),
    selectRows: () => setAllOf(undefined),
    clear: () => {
      setAllOf(undefined)
      setRows({ ids: {}, filterKey })
    },
  }
}

/** Value of `filterKey` for ids of which it is not known whether they match any filter. */
const UNCHECKED = ''

/** Query for the devices that match a filter among the given ids, in parts of `MAX_LISTED_DEVICES` ids. */
function matchesQuery(projectId: string, filter: Filter, ids: readonly string[]) {
  const inputOf = (deviceIds: readonly string[]) => ({
    projectId,
    filter: { ...filter, deviceIds: deviceIds as DeviceRow['deviceId'][] },
    limit: MAX_LISTED_DEVICES,
    countTotal: false,
  })
  return queryOptions<{ devices: DeviceRow[] }>({
    ...actionQuery('projects_QueryDevices', inputOf(ids)),
    queryFn: async ({ signal }) => {
      const devices: DeviceRow[] = []
      for (let from = 0; from < ids.length; from += MAX_LISTED_DEVICES) {
        const part = inputOf(ids.slice(from, from + MAX_LISTED_DEVICES))
        devices.push(...(await invoke('projects_QueryDevices', part, { signal })).devices)
      }
      return { devices }
    },
  })
}

/** Selection of the device list and the functions that change it. */
export type Selection = ReturnType<typeof useSelection>
