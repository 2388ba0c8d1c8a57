import { newId, type operations } from '@muster/actions'
import { deviceRow, operationRow } from '../rows.ts'
import { time, timeOf } from './list-items.ts'
import { MEMBERS, PEOPLE, READERS, type Rows, type World } from './row.ts'

/** Input with a new operation of the device. */
async function ofOperation({ hub, deviceId }: World): Promise<{ deviceOperationId: string }> {
  return { deviceOperationId: await operationRow(hub, deviceId) }
}

export const operationRows: Rows<typeof operations> = {
  devices_QueryOperations: {
    input: ({ deviceId }) => ({ deviceId }),
    may: READERS,
    list: {
      items: 'operations',
      id: 'deviceOperationId',
      sorts: { createdAt: time('createdAt') },
      defaultSort: '-createdAt',
      hasText: false,
      add: async ({ hub, deviceId }, name, index) => {
        await operationRow(hub, deviceId, { name, createdAt: timeOf(index) })
      },
    },
  },
  devices_GetOperation: { input: ofOperation, may: PEOPLE },
  devices_CreateOperation: {
    // A device of its own: the operations of one device have a limit.
    input: async world => ({
      deviceId: await deviceRow(world.hub, world.projectId),
      name: 'Restart',
      steps: [{ kind: 'SetDeviceProperty', name: 'mode', value: 1 }],
    }),
    may: MEMBERS,
    audited: ({ deviceId, plant }) => ({
      deviceId,
      name: 'Restart',
      steps: [{ kind: 'SetDeviceProperty', name: 'pin', value: plant() }],
    }),
  },
  devices_StartOperation: { input: ofOperation, may: MEMBERS },
  devices_CancelOperation: { input: ofOperation, may: MEMBERS },
  devices_ClaimOperationWork: {
    input: ({ deviceId }) => ({ deviceId, limit: 1, kinds: ['DeviceCommand'] }),
    may: ['ownDevice'],
  },
  devices_ReportOperationStep: {
    input: async world => ({
      ...(await ofOperation(world)),
      deviceId: world.deviceId,
      stepIndex: 0,
      claimId: newId('d_op_claim'),
      report: { status: 'Succeeded' },
    }),
    may: ['ownDevice'],
  },
}
