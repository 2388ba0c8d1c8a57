import { z } from 'zod'
import { optional, query } from './define.ts'
import { devices } from './devices.ts'
import { DeviceId } from './ids.ts'
import { MAX_PAGE_SIZE } from './limits.ts'
import { projects } from './projects.ts'

const ofDevice = { deviceId: true } as const
/** Lists in a joined answer are pages, because whole lists would make one answer too large. */
const page = { limit: z.int().min(1).max(MAX_PAGE_SIZE) }

function asked<Input extends z.ZodType>(input: Input, max: number) {
  return optional(z.array(input).max(max)).describe(
    `Inputs of this action without \`deviceId\`, at most ${max}.`,
  )
}

function answers<Output extends z.ZodType>(output: Output) {
  return z.array(output).optional().describe('One output for each input, in the same order.')
}

/** The action that joins queries about one device. */
export const devicePage = {
  devices_GetPage: query({
    summary:
      'Runs several queries about one device at once, such as those of its page; all of them succeed or none.',
    input: z.object({
      deviceId: DeviceId,
      devices_GetDetails: asked(devices.devices_GetDetails.input.omit(ofDevice), 1),
      devices_GetProperty: asked(devices.devices_GetProperty.input.omit(ofDevice), 8),
      devices_QueryProperties: asked(devices.devices_QueryProperties.input.omit(ofDevice).extend(page), 2),
      devices_QueryPropertyHistory: asked(
        devices.devices_QueryPropertyHistory.input.omit(ofDevice).extend(page),
        2,
      ),
      devices_QueryEvents: asked(devices.devices_QueryEvents.input.omit(ofDevice), 1),
      devices_QueryConnections: asked(devices.devices_QueryConnections.input.omit(ofDevice), 1),
      projects_GetPins: asked(z.object({}), 1).describe(
        '`[{}]` asks for the pins in the project of the device.',
      ),
    }),
    output: z.object({
      devices_GetDetails: answers(devices.devices_GetDetails.output),
      devices_GetProperty: answers(devices.devices_GetProperty.output),
      devices_QueryProperties: answers(devices.devices_QueryProperties.output),
      devices_QueryPropertyHistory: answers(devices.devices_QueryPropertyHistory.output),
      devices_QueryEvents: answers(devices.devices_QueryEvents.output),
      devices_QueryConnections: answers(devices.devices_QueryConnections.output),
      projects_GetPins: answers(projects.projects_GetPins.output),
    }),
    permission: { can: 'view', on: 'device', id: 'deviceId' },
  }),
}
