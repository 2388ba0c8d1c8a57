import { newId, type organizations } from '@muster/actions'
import { addInvitation, addProject, addRepository, addUser, createdAt, text } from './list-items.ts'
import { anotherInvitation, anotherOrganization, anotherPerson, newEmail } from './records.ts'
import { ACTORS, KEEPERS, ONESELF, PEOPLE, READERS, type Rows } from './row.ts'

export const organizationRows: Rows<typeof organizations> = {
  organizations_Query: {
    input: () => ({}),
    may: PEOPLE,
    list: {
      items: 'organizations',
      id: 'organizationId',
      sorts: { name: text('name') },
      defaultSort: 'name',
      hasText: true,
      add: async ({ hub, people }, name) => {
        const organization_id = newId('org')
        await hub.db.insertInto('organization').values({ organization_id, name }).execute()
        await hub.db
          .insertInto('organization_member')
          .values({ organization_id, user_id: people.member.userId })
          .execute()
      },
    },
  },
  organizations_Create: { input: () => ({ name: 'Another organization' }), may: PEOPLE },
  organizations_Delete: {
    input: async (world, person) => ({ organizationId: await anotherOrganization(world, person) }),
    may: KEEPERS,
  },
  organizations_SetName: {
    input: ({ organizationId }) => ({ organizationId, name: 'Renamed' }),
    may: KEEPERS,
  },
  organizations_QueryProjects: {
    input: ({ organizationId }) => ({ organizationId }),
    may: READERS,
    list: {
      items: 'projects',
      id: 'projectId',
      sorts: {
        name: text('name'),
        createdAt: createdAt('projectId'),
        // The projects of this test have no devices and thus no problems, so they are sorted by name.
        problems: item => `9${item.name as string}`,
        devices: () => 0,
      },
      defaultSort: 'name',
      hasText: true,
      add: addProject,
    },
  },
  organizations_QueryRepositories: {
    input: ({ organizationId }) => ({ organizationId, withDetails: true }),
    may: READERS,
    list: {
      items: 'repositories',
      id: 'repositoryId',
      sorts: { name: text('name'), createdAt: createdAt('repositoryId') },
      defaultSort: 'name',
      hasText: true,
      add: addRepository,
    },
  },
  organizations_Search: { input: ({ organizationId }) => ({ organizationId, text: 'a' }), may: READERS },
  organizations_QueryMembers: {
    input: ({ organizationId }) => ({ organizationId }),
    may: READERS,
    list: {
      items: 'members',
      id: 'userId',
      sorts: { name: item => (item.displayName ?? item.email) as string, email: text('email') },
      defaultSort: 'name',
      hasText: true,
      named: 'displayName',
      add: async (world, name, index) => {
        const user_id = await addUser(world, name, index)
        await world.hub.db
          .insertInto('organization_member')
          .values({ organization_id: world.organizationId, user_id })
          .execute()
      },
    },
  },
  organizations_AddMember: {
    input: async world => ({
      organizationId: world.organizationId,
      userId: (await anotherPerson(world)).userId,
    }),
    may: ['instanceAdmin'],
  },
  organizations_SetMemberIsAdmin: {
    input: async world => ({
      organizationId: world.organizationId,
      userId: (await anotherPerson(world, world.organizationId)).userId,
      isAdmin: true,
    }),
    may: KEEPERS,
  },
  organizations_RemoveMember: {
    input: async (world, person) => ({
      organizationId: await anotherOrganization(world, person),
      userId: person.userId,
    }),
    may: [...ONESELF, ...KEEPERS],
  },
  organizations_QueryInvitations: {
    input: ({ organizationId }) => ({ organizationId }),
    may: READERS,
    list: {
      items: 'invitations',
      id: 'invitationId',
      sorts: { createdAt: createdAt('invitationId'), email: text('email') },
      defaultSort: '-createdAt',
      hasText: false, // An address can be invited only once, so no two names are alike.
      add: (world, _name, index) => addInvitation(world, world.organizationId, newEmail(), index),
    },
  },
  organizations_InviteMember: {
    input: ({ organizationId }) => ({ organizationId, email: newEmail() }),
    may: KEEPERS,
  },
  organizations_ResendInvitation: {
    input: async world => ({
      invitationId: await anotherInvitation(world, world.organizationId, newEmail()),
    }),
    may: KEEPERS,
  },
  organizations_GetInvitation: {
    input: () => ({ linkId: crypto.randomUUID() }),
    may: ACTORS,
  },
  organizations_DeleteInvitation: {
    input: async world => ({
      invitationId: await anotherInvitation(world, world.organizationId, newEmail()),
    }),
    may: KEEPERS,
  },
}
