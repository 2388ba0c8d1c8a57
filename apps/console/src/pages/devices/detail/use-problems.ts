import type { ActionOutput } from '@muster/actions/client'
import { useQuery } from '@tanstack/react-query'
import { useActionState } from '../../../api/queries.ts'
import { connectionsQuery, eventsInput } from './device-queries.ts'
import { offlineProblem, type Problem, problemsOf } from './problems.ts'
import { HEALTH, OTA_STATUS } from './property-names.ts'
import { foundProperties } from './well-known.ts'

/**
 * The problems of a device, the gravest first. They are `undefined` until everything that reports problems has loaded, and if a part of it
 * cannot be loaded.
 */
export function useProblems(
  deviceId: string,
  details: ActionOutput<'devices_GetDetails'> | undefined,
): { problems: Problem[] | undefined; isLoading: boolean } {
  const ota = useActionState('devices_GetProperty', { deviceId, name: OTA_STATUS })
  const health = useActionState('devices_GetProperty', { deviceId, name: HEALTH })
  const events = useActionState('devices_QueryEvents', eventsInput(deviceId))
  const connections = useQuery(connectionsQuery(deviceId))
  const isLoading = [ota, health, events, connections].some(({ isPending }) => isPending)
  if (!details || !ota.data || !health.data || events.isPending) return { problems: undefined, isLoading }
  const { data, dataUpdatedAt } = connections
  const offline = data && !details.isConnected ? offlineProblem(data.connections, dataUpdatedAt) : []
  const reported = foundProperties([ota.data, health.data])
  const problems = [...problemsOf(details, reported, events.data?.events[0]), ...(offline ?? [])]
  return { problems, isLoading }
}

/**
 * When a problem began. `at` is `undefined` without a problem, while it loads, and if the problem began before the oldest value that the
 * hub has read.
 */
export function useBeginning(
  deviceId: string,
  problem: Problem | undefined,
): { at: string | undefined; isLoading: boolean } {
  const of = problem?.kind === 'health' ? 'health' : 'update'
  const hasRun = problem?.property !== undefined
  const { data, isLoading } = useActionState('devices_GetProblemRun', { deviceId, of }, { enabled: hasRun })
  return { at: hasRun ? data?.firstAt : problem?.firstAt, isLoading }
}
