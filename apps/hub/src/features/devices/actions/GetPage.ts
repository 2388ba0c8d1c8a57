import { handler } from '../../../platform/pipeline/handler.ts'
import { projects_GetPins } from '../../projects/index.ts'
import { devices_GetDetails } from './GetDetails.ts'
import { devices_GetProperty } from './GetProperty.ts'
import { devices_QueryConnections } from './QueryConnections.ts'
import { devices_QueryEvents } from './QueryEvents.ts'
import { devices_QueryProperties } from './QueryProperties.ts'
import { devices_QueryPropertyHistory } from './QueryPropertyHistory.ts'

/**
 * Runs several queries about one device. All of them need the right to view the device or less, which the pipeline has checked. If one
 * fails, the whole call fails, and the caller runs them one by one to learn which.
 */
export const devices_GetPage = handler('devices_GetPage', async (context, { deviceId, ...asked }) => {
  const [details, properties, lists, histories, events, connections, pins] = await Promise.all([
    answersTo(asked.devices_GetDetails, () => devices_GetDetails(context, { deviceId })),
    answersTo(asked.devices_GetProperty, input => devices_GetProperty(context, { deviceId, ...input })),
    answersTo(asked.devices_QueryProperties, input =>
      devices_QueryProperties(context, { deviceId, ...input }),
    ),
    answersTo(asked.devices_QueryPropertyHistory, input =>
      devices_QueryPropertyHistory(context, { deviceId, ...input }),
    ),
    answersTo(asked.devices_QueryEvents, input => devices_QueryEvents(context, { deviceId, ...input })),
    answersTo(asked.devices_QueryConnections, input =>
      devices_QueryConnections(context, { deviceId, ...input }),
    ),
    answersTo(asked.projects_GetPins, () =>
      projects_GetPins(context, { projectId: context.scope.projectId as never }),
    ),
  ])
  return {
    devices_GetDetails: details,
    devices_GetProperty: properties,
    devices_QueryProperties: lists,
    devices_QueryPropertyHistory: histories,
    devices_QueryEvents: events,
    devices_QueryConnections: connections,
    projects_GetPins: pins,
  }
})

async function answersTo<Input, Output>(
  inputs: readonly Input[] | undefined,
  run: (input: Input) => Promise<Output>,
): Promise<Output[] | undefined> {
  return inputs && Promise.all(inputs.map(run))
}
