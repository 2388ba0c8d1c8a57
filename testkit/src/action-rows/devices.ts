import type { devicePage, devices } from '@muster/actions'
import { deviceIdentity, renewalInput } from '../fake-device.ts'
import { deviceRow, randomFingerprint } from '../rows.ts'
import { addNothing, text, time, timeOf } from './list-items.ts'
import { anotherCertificate, newFingerprint, someEvent } from './records.ts'
import { ACTORS, MEMBERS, PEOPLE, READERS, type Rows } from './row.ts'

/** Version of the next property. It starts at 8, so that the versions cross 10 and a sort by strings would fail the test. */
let propertyVersion = 8

export const deviceRows: Rows<typeof devices & typeof devicePage> = {
  devices_Query: {
    input: () => ({}),
    may: PEOPLE,
    list: {
      items: 'devices',
      id: 'deviceId',
      sorts: { deviceId: text('deviceId') },
      defaultSort: 'deviceId',
      hasText: false,
      add: addNothing, // This list shows the devices of the project too.
    },
  },
  devices_GetDetails: { input: ({ deviceId }) => ({ deviceId }), may: READERS },
  devices_GetPage: {
    input: ({ deviceId }) => ({
      deviceId,
      devices_GetDetails: [{}],
      devices_GetProperty: [{ name: 'some.property' }],
      devices_QueryProperties: [{ limit: 10 }, { limit: 10, withActors: true }],
      devices_QueryPropertyHistory: [{ name: 'some.property', limit: 10 }],
      devices_QueryEvents: [{ limit: 10 }],
      devices_QueryConnections: [{ limit: 10 }],
      projects_GetPins: [{}],
    }),
    may: READERS,
  },
  devices_SetName: { input: ({ deviceId }) => ({ deviceId, name: 'Gate' }), may: MEMBERS },
  devices_Delete: {
    input: async world => ({ deviceId: await deviceRow(world.hub, world.projectId) }),
    may: READERS,
  },
  devices_Block: {
    input: async world => ({ deviceId: await deviceRow(world.hub, world.projectId) }),
    may: MEMBERS,
  },
  devices_AddCertificate: {
    input: async ({ deviceId, identity }) =>
      identity
        ? renewalInput(deviceId, identity, await deviceIdentity())
        : { deviceId, fingerprint: randomFingerprint(), status: 'Pending' },
    may: [...MEMBERS, 'ownDevice'],
  },
  devices_SetCertificateStatus: {
    input: async world => ({ certificateId: await anotherCertificate(world), status: 'Active' }),
    may: MEMBERS,
  },
  devices_DeleteCertificate: {
    input: async world => ({ certificateId: await anotherCertificate(world) }),
    may: READERS,
  },
  devices_QueryProperties: { input: ({ deviceId }) => ({ deviceId }), may: [...READERS, 'ownDevice'] },
  devices_GetProperty: {
    input: ({ deviceId }) => ({ deviceId, name: 'some.property' }),
    may: [...READERS, 'ownDevice'],
  },
  devices_SetProperty: {
    input: ({ deviceId }) => ({ deviceId, name: 'some.property', value: { a: [1] } }),
    may: [...MEMBERS, 'ownDevice'],
    audited: ({ deviceId, plant }) => ({ deviceId, name: 'a', value: plant() }),
  },
  devices_RemoveProperty: {
    input: ({ deviceId }) => ({ deviceId, name: 'some.property' }),
    may: [...MEMBERS, 'ownDevice'],
  },
  devices_QueryEvents: { input: ({ deviceId }) => ({ deviceId, limit: 10 }), may: READERS },
  devices_PublishEvents: {
    input: ({ deviceId }) => ({ deviceId, events: [someEvent()] }),
    may: [...MEMBERS, 'ownDevice'],
  },
  devices_QueryConnections: { input: ({ deviceId }) => ({ deviceId, activeOnly: false }), may: READERS },
  devices_GetProblemRun: { input: ({ deviceId }) => ({ deviceId, of: 'update' }), may: READERS },
  devices_GetConnectionHistory: {
    input: ({ deviceId }) => ({ deviceId, ticks: 24, tickSecs: 3600, changes: 10 }),
    may: READERS,
  },
  devices_QueryPropertyHistory: {
    input: ({ deviceId }) => ({ deviceId, name: 'some.property' }),
    may: READERS,
    list: {
      items: 'changes',
      id: 'version',
      sorts: { changedAt: time('changedAt') },
      defaultSort: '-changedAt',
      hasText: false,
      hasNoTotal: true,
      add: async ({ hub, deviceId }, name, index) => {
        await hub.db
          .insertInto('device_property_change')
          .values({
            device_id: deviceId,
            name: 'some.property',
            version: propertyVersion++,
            value: JSON.stringify(name),
            actor: JSON.stringify({ actor: 'System' }),
            changed_at: timeOf(index),
          })
          .execute()
      },
    },
  },
  devices_QueryTimeline: { input: ({ deviceId }) => ({ deviceId, withCounts: true }), may: READERS },
  devices_Create: {
    input: ({ projectId }) => ({ projectId, fingerprint: newFingerprint() }),
    may: MEMBERS,
  },
  devices_IssueDeviceToken: {
    input: ({ deviceId }) => ({ deviceId, validForSecs: 60, claims: { role: 'camera' } }),
    may: [...MEMBERS, 'ownDevice'],
    audited: ({ deviceId, plant }) => ({ deviceId, claims: { pin: plant() } }),
  },
  devices_ValidateDeviceToken: { input: () => ({ jwt: 'no JWT' }), may: ACTORS },
  devices_IssueHttpProxyToken: {
    input: ({ deviceId }) => ({ deviceId, validForSecs: 60, port: 8080 }),
    may: MEMBERS,
  },
}
