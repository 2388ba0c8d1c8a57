import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { actionQuery, useCommand } from '../../../api/queries.ts'
import type { TokenChoices } from '../../projects/shared/use-token-form.tsx'
import type { DeviceRow } from '../list/use-device-list.ts'

/** Name of a deployment token in the guides, unless the person types another one. */
export const DEFAULT_TOKEN_NAME = 'New devices'
/** Polling interval while the user waits, in case the live stream is blocked. */
const WAITING_INTERVAL_MS = 5000
/**
 * Largest number of devices in a project for which the guide takes a known device that reconnects for the awaited one. In larger projects
 * devices reconnect all the time.
 */
const FEW_DEVICES = 10

/** The 100 newest devices of a project, or those that enrolled with one token. */
function newestDevicesQuery(projectId: string, tokenId?: string) {
  const filter = tokenId === undefined ? {} : { filter: { tokenId } }
  return actionQuery('projects_QueryDevices', { projectId, ...filter, limit: 100, sort: '-firstSeen' })
}

/** Deployment token for the next device, and the newest devices, keyed by id, just before the token was created. */
export type Enrolment = {
  token: string
  tokenId: string
  choices: TokenChoices
  before: ReadonlyMap<string, DeviceRow>
}

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
    const { devices } = await queryClient.fetchQuery({ ...newestDevicesQuery(projectId), staleTime: 0 })
    const created = await create.mutateAsync({ projectId, ...choices })
    setEnrolment({ ...created, choices, before: new Map(devices.map(device => [device.deviceId, device])) })
  }
  return { enrolment, start, forget: () => setEnrolment(undefined) }
}

/** The deployment token of a guide as the hub lists it, with its last refusal. */
export function useWaitingToken(projectId: string, tokenId: string) {
  const input = { projectId, filter: { text: tokenId }, limit: 1 }
  const { data } = useQuery({
    ...actionQuery('projects_QueryDeploymentTokens', input),
    refetchInterval: WAITING_INTERVAL_MS,
  })
  return data?.tokens.find(token => token.tokenId === tokenId)
}

/**
 * Id of the device that has connected since the token was created. It stays the same until `next` is called. `next` waits for another
 * device and ignores all devices that are known at this moment.
 */
export function useArrival(projectId: string, enrolment: Enrolment | undefined) {
  const [deviceId, setDeviceId] = useState<string>()
  const [greeted, setGreeted] = useState<ReadonlySet<string>>(new Set())
  const { tokenId, before } = enrolment ?? { tokenId: '', before: NONE }
  const options = { enabled: enrolment !== undefined, refetchInterval: WAITING_INTERVAL_MS }
  const enrolled = useQuery({ ...newestDevicesQuery(projectId, tokenId), ...options }).data?.devices ?? []
  const isSmall = before.size > 0 && before.size <= FEW_DEVICES
  const newest =
    useQuery({ ...newestDevicesQuery(projectId), ...options, enabled: options.enabled && isSmall }).data
      ?.devices ?? []
  const found = enrolment && arrivalOf(enrolled, isSmall ? newest : [], before, greeted)
  if (found && deviceId === undefined) setDeviceId(found.deviceId)
  return {
    deviceId: enrolment && deviceId,
    next() {
      const known = [...enrolled, ...newest].map(device => device.deviceId)
      setGreeted(new Set([...greeted, ...known, ...(deviceId === undefined ? [] : [deviceId])]))
      setDeviceId(undefined)
    },
  }
}

const NONE: ReadonlyMap<string, DeviceRow> = new Map()

/**
 * Device to greet: the newest device that enrolled with the token (`enrolled`), else a known device in `newest` that has reconnected
 * since `before` was recorded. Devices in `greeted` are ignored.
 */
export function arrivalOf(
  enrolled: readonly DeviceRow[],
  newest: readonly DeviceRow[],
  before: ReadonlyMap<string, DeviceRow>,
  greeted: ReadonlySet<string>,
): DeviceRow | undefined {
  return (
    enrolled.find(({ deviceId }) => !greeted.has(deviceId)) ??
    newest.find(
      ({ deviceId, isConnected, lastConnectedAt }) =>
        isConnected &&
        before.has(deviceId) &&
        !greeted.has(deviceId) &&
        lastConnectedAt !== before.get(deviceId)?.lastConnectedAt,
    )
  )
}
