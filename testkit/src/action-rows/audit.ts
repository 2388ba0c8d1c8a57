import { type audit, newDatedId } from '@muster/actions'
import { time, timeOf } from './list-items.ts'
import { type List, READERS, type Rows, type World } from './row.ts'

export const auditRows: Rows<typeof audit> = {
  audit_QueryAuditLogEvents: { input: () => ({}), may: ['instanceAdmin'], list: eventList(() => ({})) },
  audit_QueryAuditLogActivity: { input: () => ({}), may: ['instanceAdmin'] },
  organizations_QueryAuditLogActivity: {
    input: ({ organizationId }) => ({ organizationId, filter: { withinSecs: 3600 } }),
    may: READERS,
  },
  projects_QueryAuditLogActivity: { input: ({ projectId }) => ({ projectId }), may: READERS },
  repositories_QueryAuditLogActivity: { input: ({ repositoryId }) => ({ repositoryId }), may: READERS },
  devices_QueryAuditLogActivity: { input: ({ deviceId }) => ({ deviceId }), may: READERS },
  audit_QueryAuditLogActions: {
    input: () => ({}),
    may: ['instanceAdmin'],
    list: {
      items: 'actions',
      id: 'actionId',
      sorts: { createdAt: time('createdAt') },
      defaultSort: '-createdAt',
      hasText: false,
      hasNoTotal: true,
      add: async ({ hub }, _name, index) => {
        await hub.db
          .insertInto('audit_action')
          .values({
            action_id: newDatedId('audit_act', timeOf(index)),
            action: 'projects_SetName',
            actor: JSON.stringify({ actor: 'System' }),
            data: '{}',
            status: 'Succeeded',
            node_id: hub.nodeId,
            request_id: 'test',
            created_at: timeOf(index),
            finished_at: timeOf(index),
          })
          .execute()
      },
    },
  },
  organizations_QueryAuditLog: {
    input: ({ organizationId }) => ({ organizationId }),
    may: READERS,
    list: eventList(({ organizationId }) => ({ organization_id: organizationId })),
  },
  projects_QueryAuditLog: {
    input: ({ projectId }) => ({ projectId }),
    may: READERS,
    list: eventList(({ projectId }) => ({ project_id: projectId })),
  },
  repositories_QueryAuditLog: {
    input: ({ repositoryId }) => ({ repositoryId }),
    may: READERS,
    list: eventList(({ repositoryId }) => ({ repository_id: repositoryId })),
  },
  devices_QueryAuditLog: {
    input: ({ deviceId }) => ({ deviceId }),
    may: READERS,
    list: eventList(({ deviceId }) => ({ device_id: deviceId })),
  },
}

/** Description of a list of audit events. `of` returns the columns by which an event belongs to the list, such as `project_id`. */
function eventList(of: (world: World) => object): List {
  return {
    items: 'events',
    id: 'eventId',
    sorts: { createdAt: time('createdAt') },
    defaultSort: '-createdAt',
    hasText: false,
    hasNoTotal: true,
    add: async (world, _name, index) => {
      await world.hub.db
        .insertInto('audit_event')
        .values({
          event_id: newDatedId('audit_ev', timeOf(index)),
          event: 'projects_NameChanged',
          actor: JSON.stringify({ actor: 'System' }),
          data: '{}',
          created_at: timeOf(index),
          ...of(world),
        })
        .execute()
    },
  }
}
