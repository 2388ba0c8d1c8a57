import { useCommand } from '../../api/queries.ts'

/** Command that renames a device, or removes its name. */
export function useRename() {
  return useCommand('devices_SetName', {
    invalidates: ['devices_GetDetails', 'projects_QueryDevices', 'projects_GetSummary'],
  })
}
