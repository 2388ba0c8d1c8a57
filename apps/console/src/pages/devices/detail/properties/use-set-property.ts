import { useCommand } from '../../../../api/queries.ts'

/** The command that sets a property. Everything that shows its value is fetched again. */
export function useSetProperty() {
  return useCommand('devices_SetProperty', {
    invalidates: ['devices_QueryProperties', 'devices_GetProperty', 'devices_QueryPropertyHistory'],
  })
}
