import { newId, publicIdOf } from '@muster/actions'
import { hashSecret } from '@muster/hub/secrets'
import { type FakeS3, fakeS3 } from '../fake-s3.ts'
import { deviceRow } from '../rows.ts'
import type { TestHub } from '../test-hub.ts'
import { filledRepository, linkRepository } from './records.ts'
import type { World } from './row.ts'

/** Creates the records of a `World`. The hub must allow an S3 server on a loopback address. The caller must dispose of `s3`. */
export async function actionWorld(
  hub: TestHub,
  given: Partial<World['people']> & { s3?: FakeS3 } = {},
): Promise<World & { token: string }> {
  const people = {
    member: given.member ?? (await hub.user()),
    organizationAdmin: given.organizationAdmin ?? (await hub.user()),
    instanceAdmin: given.instanceAdmin ?? (await hub.user({ isAdmin: true })),
    otherTenant: given.otherTenant ?? (await hub.user()),
  }
  const organizationId = newId('org')
  await hub.db.insertInto('organization').values({ organization_id: organizationId, name: 'home' }).execute()
  const { member, organizationAdmin } = people
  await hub.db
    .insertInto('organization_member')
    .values([
      { organization_id: organizationId, user_id: organizationAdmin.userId, is_admin: true },
      { organization_id: organizationId, user_id: member.userId, is_admin: false },
    ])
    .execute()
  const projectId = newId('p')
  await hub.db
    .insertInto('project')
    .values({
      project_id: projectId,
      organization_id: organizationId,
      name: 'home',
      certificate_renewal: true,
    })
    .execute()
  const token = newId('deployment')
  const tokenId = publicIdOf(token)
  await hub.db
    .insertInto('deployment_token')
    .values({
      token_id: tokenId,
      token_hash: hashSecret(token),
      project_id: projectId,
      name: 'home',
      auto_accept: true,
    })
    .execute()
  const repository = await filledRepository(hub, organizationId)
  const world = {
    hub,
    people,
    organizationId,
    projectId,
    tokenId,
    token,
    deviceId: await deviceRow(hub, projectId, { name: 'home' }),
    s3: given.s3 ?? (await fakeS3()),
    createdAt: new Map([projectId, repository.repositoryId].map(id => [id, Date.now()])),
    ...repository,
  }
  await linkRepository(world, world.repositoryId)
  return world
}
