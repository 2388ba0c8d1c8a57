import { newId } from '@muster/actions'
import { nameKey } from '@muster/predicates/name-key'
import type { Item, World } from './row.ts'

/** Names of the items that the tests add to each list. */
export const NAMES = [
  'Gate',
  'gate',
  'Gate',
  'gate 10',
  'gate 9',
  '100 %',
  'a_b',
  'aXb',
  'back\\slash',
  "O'Neil",
  'ärger',
  'zebra',
  'Zebra',
  '漢字',
  '😀',
  'q"uote',
  '  inner  blanks',
  'tab',
  'x'.repeat(128),
]

/** Time of the first item in milliseconds: a day ago, so that retention does not delete the items. */
export const FIRST_MS = Math.floor(Date.now() / 1000) * 1000 - 24 * 60 * 60 * 1000
/** Time of an item. Every second item has the same time as the item before it, so that the sort order of the two depends on their ids. */
export const timeOf = (index: number): Date => new Date(FIRST_MS + Math.floor(index / 2) * 1000)

export const text = (field: string) => (item: Item) => (item[field] ?? '') as string
export const time = (field: string) => (item: Item) => Date.parse(item[field] as string)
/** Creation time in milliseconds of an item, for a list whose items have no field with the creation time. */
export const createdAt = (idField: string) => (item: Item, world: World) =>
  world.createdAt.get(item[idField] as string)!

/** Adds no item, for a list that shows the rows of another list. */
export const addNothing = async (): Promise<void> => {}

export async function addUser({ hub }: World, name: string, index: number): Promise<string> {
  const user_id = newId('u')
  await hub.db
    .insertInto('user')
    .values({ user_id, email: `${user_id}@test.example`, display_name: name, created_at: timeOf(index) })
    .execute()
  return user_id
}

export async function addInvitation(
  { hub, createdAt }: World,
  organization_id: string,
  email: string,
  index: number,
): Promise<void> {
  const invitation_id = newId('org_invite')
  createdAt.set(invitation_id, timeOf(index).getTime())
  await hub.db
    .insertInto('organization_invitation')
    .values({ invitation_id, organization_id, email, created_at: timeOf(index) })
    .execute()
}

export async function addRepository(world: World, name: string, index: number): Promise<void> {
  const repository_id = newId('repo')
  world.createdAt.set(repository_id, timeOf(index).getTime())
  await world.hub.db
    .insertInto('repository')
    .values({
      repository_id,
      organization_id: world.organizationId,
      display_name: name,
      created_at: timeOf(index),
    })
    .execute()
}

export async function addProject(world: World, name: string, index: number): Promise<void> {
  const project_id = newId('p')
  world.createdAt.set(project_id, timeOf(index).getTime())
  await world.hub.db
    .insertInto('project')
    .values({
      project_id,
      organization_id: world.organizationId,
      name,
      name_key: nameKey(name),
      created_at: timeOf(index),
    })
    .execute()
}
