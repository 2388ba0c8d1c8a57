import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { actionQuery, useCommand } from '../../../api/queries.ts'
import type { TokenChoices } from '../../tokens/use-token-form.tsx'
import type { DeviceRow } from '../list/use-device-list.ts'

/** Name of a deployment token in the guides, unless the person types another one. */
export const DEFAULT_TOKEN_NAME = 'New devices'

/** Query for the 100 newest devices of a project, among which `arrivalOf` looks for the device that has connected. */
export function latestDevicesQuery(projectId: string) {
  return actionQuery('projects_QueryDevices', { projectId, limit: 100, sort: '-firstSeen' })
}

/** Deployment token for the next device, and the newest devices, keyed by id, just before the token was created. */
export type Enrolment = { token: string; before: ReadonlyMap<string, DeviceRow> }

/**
 * Creates a deployment token, and records the newest devices, so that `arrivalOf` recognizes the device that connects afterwards. The token
 * is kept in component state only, not in the query cache.
 */
export function useEnrolment(projectId: string) {
  const queryClient = useQueryClient()
  const [enrolment, setEnrolment] = useState<Enrolment>()
  const create = useCommand('projects_CreateDeploymentToken', {
    invalidates: ['projects_QueryDeploymentTokens'],
  })

  async function start(choices: TokenChoices) {
    const { devices } = await queryClient.fetchQuery({ ...latestDevicesQuery(projectId), staleTime: 0 })
    const { token } = await create.mutateAsync({ projectId, ...choices })
    setEnrolment({ token, before: new Map(devices.map(device => [device.deviceId, device])) })
  }
  return { enrolment, start }
}

/**
 * The device that has connected since `before` was recorded: a new device if there is one, else a known device that has
 * reconnected.
 */
export function arrivalOf(
  devices: readonly DeviceRow[],
  before: ReadonlyMap<string, DeviceRow>,
): DeviceRow | undefined {
  return (
    devices.find(({ deviceId }) => !before.has(deviceId)) ??
    devices.find(
      ({ deviceId, isConnected, lastConnectedAt }) =>
        isConnected && lastConnectedAt !== before.get(deviceId)?.lastConnectedAt,
    )
  )
}
