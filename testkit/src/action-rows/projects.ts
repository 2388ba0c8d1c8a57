import { newId, type projects, publicIdOf } from '@muster/actions'
import { hashSecret } from '@muster/hub/secrets'
import { blockRow, deviceRow } from '../rows.ts'
import { addNothing, text, time, timeOf } from './list-items.ts'
import { anotherProject, anotherToken, linkRepository, newRepository } from './records.ts'
import { MEMBERS, PEOPLE, READERS, type Rows } from './row.ts'

export const projectRows: Rows<typeof projects> = {
  projects_Query: {
    input: () => ({}),
    may: PEOPLE,
    list: {
      items: 'projects',
      id: 'projectId',
      sorts: { name: text('name') },
      defaultSort: 'name',
      hasText: true,
      add: addNothing, // This list shows the projects of the organization too.
    },
  },
  projects_Create: {
    input: ({ organizationId }) => ({ organizationId, name: 'Another project' }),
    may: MEMBERS,
  },
  projects_GetDetails: { input: ({ projectId }) => ({ projectId }), may: READERS },
  projects_GetSummary: { input: ({ projectId }) => ({ projectId, maxBins: 3 }), may: READERS },
  projects_GetPins: { input: ({ projectId }) => ({ projectId }), may: READERS },
  projects_SetPins: {
    input: ({ projectId }) => ({ projectId, properties: ['app.crane.mode', 'app.crane.limits'] }),
    may: READERS,
  },
  projects_SetPinnedProperties: {
    input: ({ projectId }) => ({ projectId, properties: [{ name: 'app.crane.mode', label: 'Crane mode' }] }),
    may: MEMBERS,
  },
  projects_SetName: { input: ({ projectId }) => ({ projectId, name: 'Renamed' }), may: MEMBERS },
  projects_SetCertificateRenewal: {
    input: ({ projectId }) => ({ projectId, isAllowed: true }),
    may: MEMBERS,
  },
  projects_Delete: { input: async world => ({ projectId: await anotherProject(world) }), may: READERS },
  projects_QueryDevices: {
    input: ({ projectId }) => ({ projectId }),
    may: READERS,
    list: {
      items: 'devices',
      id: 'deviceId',
      sorts: {
        // A device without a name is sorted by its host name.
        name: item => (item.name ?? item.hostname ?? '') as string,
        deviceId: text('deviceId'),
        firstSeen: time('firstSeen'),
        status: item => item.isConnected as boolean,
        pendingCertificatesCount: item => item.pendingCertificatesCount as number,
        // The devices of this test were never connected, so they are sorted by the time at which they were first seen. Devices that are
        // connected at this moment come last.
        lastSeenAt: item => Date.parse(item.firstSeen as string) + (item.isConnected ? 1e14 : 0),
      },
      defaultSort: 'firstSeen',
      hasText: true,
      add: async ({ hub, projectId }, name, index) => {
        await deviceRow(hub, projectId, {
          name: index === 3 ? null : name,
          hostname: `rack ${index}`,
          firstSeen: timeOf(index),
          isConnected: index % 3 === 0,
          pendingCertificates: index % 4,
        })
      },
    },
  },
  projects_QueryBlockedDevices: {
    input: ({ projectId }) => ({ projectId }),
    may: READERS,
    list: {
      items: 'blocks',
      id: 'blockId',
      sorts: { name: text('name'), blockedAt: time('blockedAt') },
      defaultSort: '-blockedAt',
      hasText: true,
      add: async ({ hub, projectId }, name, index) => {
        await blockRow(hub, projectId, { name, blockedAt: timeOf(index) })
      },
    },
  },
  projects_UnblockDevice: {
    input: async ({ hub, projectId }) => ({ projectId, blockId: await blockRow(hub, projectId) }),
    may: MEMBERS,
  },
  projects_QueryPendingCertificates: { input: ({ projectId }) => ({ projectId, limit: 5 }), may: READERS },
  projects_QueryDeviceCounts: {
    input: ({ projectId }) => ({ projectId, filters: [{}, { status: 'connected' }] }),
    may: READERS,
  },
  projects_QueryPropertyNames: { input: ({ projectId }) => ({ projectId, text: 'a' }), may: READERS },
  projects_QueryPropertyValues: {
    input: ({ projectId }) => ({ projectId, property: 'version', filter: { status: 'connected' } }),
    may: READERS,
  },
  projects_QueryDeploymentTokens: {
    input: ({ projectId }) => ({ projectId }),
    may: READERS,
    list: {
      items: 'tokens',
      id: 'tokenId',
      sorts: { name: text('name'), createdAt: time('createdAt') },
      defaultSort: '-createdAt',
      hasText: true,
      add: async ({ hub, projectId }, name, index) => {
        const token = newId('deployment')
        await hub.db
          .insertInto('deployment_token')
          .values({
            token_id: publicIdOf(token),
            token_hash: hashSecret(token),
            project_id: projectId,
            name,
            created_at: timeOf(index),
          })
          .execute()
      },
    },
  },
  projects_CreateDeploymentToken: {
    input: ({ projectId }) => ({ projectId, name: 'Another token', flags: { autoAccept: true } }),
    may: MEMBERS,
  },
  projects_DeleteDeploymentToken: {
    input: async world => ({ tokenId: await anotherToken(world) }),
    may: READERS,
  },
  projects_SetDeploymentTokenFlags: {
    input: ({ tokenId }) => ({ tokenId, flags: { autoAccept: true } }),
    may: MEMBERS,
  },
  projects_SetDeploymentTokenLimits: {
    input: ({ tokenId }) => ({ tokenId, limits: { deviceLimit: 1000 } }),
    may: MEMBERS,
  },
  projects_SetDeploymentTokenLabels: {
    input: ({ tokenId }) => ({ tokenId, labels: { site: 'pier4' } }),
    may: MEMBERS,
  },
  projects_QueryLinkedRepositories: {
    input: ({ projectId }) => ({ projectId }),
    may: READERS,
    list: {
      items: 'repositories',
      id: 'repositoryId',
      sorts: { name: text('name') },
      defaultSort: 'name',
      hasText: true,
      add: async ({ hub, projectId, organizationId }) => {
        await hub.pool.query(
          `insert into project_repository (project_id, repository_id)
         select $1, repository_id from repository where organization_id = $2 on conflict do nothing`,
          [projectId, organizationId],
        )
      },
    },
  },
  projects_LinkRepository: {
    input: async ({ hub, organizationId, projectId }) => ({
      projectId,
      repositoryId: await newRepository(hub, organizationId),
    }),
    may: MEMBERS,
  },
  projects_UnlinkRepository: {
    input: async world => {
      const repositoryId = await newRepository(world.hub, world.organizationId)
      await linkRepository(world, repositoryId)
      return { projectId: world.projectId, repositoryId }
    },
    may: READERS,
  },
}
