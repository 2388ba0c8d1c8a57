import { z } from 'zod'
import { query } from './define.ts'
import { ClusterNodeId, DeploymentTokenId, DeviceId, OrganizationId, UserId, UserTokenId } from './ids.ts'

/** Who runs an action, as told on the wire (catalogue appendix A). */
export const Actor = z.discriminatedUnion('actor', [
  z.object({ actor: z.literal('Anonymous') }),
  z.object({ actor: z.literal('System') }),
  z.object({ actor: z.literal('User'), userId: UserId }),
  z.object({ actor: z.literal('UserToken'), userId: UserId, tokenId: UserTokenId }),
  z.object({ actor: z.literal('Device'), deviceId: DeviceId, tokenId: DeploymentTokenId }),
  z.object({ actor: z.literal('ClusterNode'), nodeId: ClusterNodeId }),
])
export type Actor = z.output<typeof Actor>

/** Actions on the caller and on accounts (catalogue 2.2). */
export const accounts = {
  actor_GetActor: query({
    summary: 'Tells the caller which identity the hub resolved from its credentials.',
    input: z.object({}),
    output: z.object({ actor: Actor }),
    permission: 'anyone',
  }),
  users_GetDetails: query({
    summary: 'Profile of one account.',
    input: z.object({ userId: UserId }),
    output: z.object({
      userId: UserId,
      email: z.string(),
      displayName: z.string().optional(),
      isAdmin: z.boolean(),
    }),
    permission: { can: 'view', on: 'user', id: 'userId' },
    aliases: ['users_GetUserDetails'],
  }),
  users_QueryOrganizations: query({
    summary: 'Organizations that a person belongs to, by name.',
    input: z.object({ userId: UserId }),
    output: z.object({
      organizations: z.array(
        z.object({ organizationId: OrganizationId, name: z.string(), requiresSubscription: z.boolean() }),
      ),
    }),
    permission: { can: 'view', on: 'user', id: 'userId' },
  }),
}
