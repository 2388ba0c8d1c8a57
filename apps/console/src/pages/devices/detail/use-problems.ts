import type { ActionOutput } from '@muster/actions/client'
import { useQuery } from '@tanstack/react-query'
import { useActionState } from '../../../api/queries.ts'
import { connectionsQuery, eventsInput } from './device-queries.ts'
import { offlineProblem, type Problem, problemsOf } from './problems.ts'
import { HEALTH, OTA_STATUS } from './property-names.ts'
import { foundProperties } from './well-known.ts'

/** The problems of a device, the gravest first; `undefined` until everything that reports problems has loaded. */
export function useProblems(
  deviceId: string,
  details: ActionOutput<'devices_GetDetails'> | undefined,
): Problem[] | undefined {
  const ota = useActionState('devices_GetProperty', { deviceId, name: OTA_STATUS }).data
  const health = useActionState('devices_GetProperty', { deviceId, name: HEALTH }).data
  const events = useActionState('devices_QueryEvents', eventsInput(deviceId))
  const connections = useQuery(connectionsQuery(deviceId))
  if (!details || !ota || !health || events.isPending) return undefined
  const { data, dataUpdatedAt } = connections
  const offline = data && !details.isConnected ? offlineProblem(data.connections, dataUpdatedAt) : []
  return [...problemsOf(details, foundProperties([ota, health]), events.data?.events[0]), ...offline]
}

/**
 * When a problem began. The result is `undefined` without a problem, while it loads, and if the problem began before the oldest
 * value that the hub has read.
 */
export function useBeginning(deviceId: string, problem: Problem | undefined): string | undefined {
  const of = problem?.kind === 'health' ? 'health' : 'update'
  const run = useActionState(
    'devices_GetProblemRun',
    { deviceId, of },
    { enabled: problem?.property !== undefined },
  ).data
  return problem?.property === undefined ? problem?.firstAt : run?.firstAt
}
