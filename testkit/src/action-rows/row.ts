import type { ActionInput, ActionName } from '@muster/actions'
import type { DeviceIdentity } from '../fake-device.ts'
import type { FakeS3 } from '../fake-s3.ts'
import type { TestHub, TestUser } from '../test-hub.ts'

/** Every kind of caller, named by its relation to the organization of `World`. The user token belongs to the member. */
export const ACTORS = [
  'unauthenticated',
  'expiredSession',
  'endedSession',
  'revokedToken',
  'otherTenant',
  'member',
  'organizationAdmin',
  'instanceAdmin',
  'userToken',
  'ownDevice',
  'siblingDevice',
  'foreignDevice',
  'clusterNode',
] as const
export type ActorName = (typeof ACTORS)[number]

/** Members of the organization. */
export const MEMBERS: readonly ActorName[] = ['member', 'organizationAdmin', 'userToken']
/** Callers who may read in the organization. */
export const READERS: readonly ActorName[] = [...MEMBERS, 'instanceAdmin']
/** All callers who are signed in or use a user token. */
export const PEOPLE: readonly ActorName[] = [...READERS, 'otherTenant']
/** Callers who may manage members of the organization. */
export const KEEPERS: readonly ActorName[] = ['organizationAdmin', 'instanceAdmin']
/** Callers who may read a private repository that is linked to the project. */
export const REPOSITORY_READERS: readonly ActorName[] = [...READERS, 'ownDevice', 'siblingDevice']
export const ONESELF: readonly ActorName[] = ['member', 'userToken']
export const ONESELF_OR_ADMIN: readonly ActorName[] = [...ONESELF, 'instanceAdmin']

/** Ids of a repository with a package, a version and an asset. */
export type RepositoryIds = { repositoryId: string; packageId: string; versionId: string; assetId: string }

/** The fields of an account that the inputs of the test cases (`Row`) need. */
export type Person = { userId: string; email: string }

/** Database records for the tests of actions: an organization with people and one record of each kind that it can own. */
export type World = RepositoryIds & {
  hub: TestHub
  people: Record<'member' | 'organizationAdmin' | 'instanceAdmin' | 'otherTenant', TestUser>
  organizationId: string
  projectId: string
  tokenId: string
  deviceId: string
  /** Identity of the device, if it is connected. */
  identity?: DeviceIdentity
  s3: FakeS3
  /** Creation times in milliseconds, by record id, for lists whose items have no field with the creation time. */
  createdAt: Map<string, number>
}

/** Records and secrets for the audit test. The test searches the database and the log for the secrets. */
export type AuditWorld = World & {
  /** Makes a secret for the input of an action. The hub must neither store nor log it. */
  plant: () => string
  /** Secrets that the hub generated. They must be neither stored nor logged. */
  generated: string[]
  /**
   * Secrets in mailed links. They must not be stored. Without a mail server the hub logs the links, so the log may contain them.
   */
  mailed: string[]
}

export type Item = Record<string, unknown>

/**
 * Describes a list action: the output field that holds the items, the item field that holds the id, how the list can be sorted, and
 * how a test adds an item.
 */
export type List = {
  /** Field of the output that holds the items. */
  items: string
  /** Field of an item that holds its id. */
  id: string
  /** Functions by sort key. A function returns the value by which its key sorts an item. */
  sorts: Record<string, (item: Item, world: World) => string | number | boolean>
  defaultSort: string
  /** True if the action has a text filter that finds items by name. */
  hasText: boolean
  /** Field of an item that holds its name; `name` by default. */
  named?: string
  /** True for logs. They may have millions of rows, so their lists have no total. */
  hasNoTotal?: boolean
  /** Adds an item. Does nothing if this list shows the rows of another list. */
  add: (world: World, name: string, index: number) => Promise<void>
}

/**
 * Requires `list` for actions whose input has `sort`. The first condition excludes inputs without fields, because TypeScript gives them
 * every string as a key, including `sort`.
 */
type ListOf<N extends ActionName> = string extends keyof ActionInput<N>
  ? { list?: never }
  : 'sort' extends keyof ActionInput<N>
    ? // Null for a list whose paging and order have a separate test.
      { list: List | null }
    : { list?: never }

/** Test case of an action in the table-driven tests of the action registry, the audit log and the lists. */
export type Row<N extends ActionName> = ListOf<N> & {
  /**
   * A valid input on records of the organization of `World` and of one person, the member by default. With this input the action
   * succeeds for a caller who administers the instance and the organization. Records that the action deletes or changes
   * irreversibly are created for each call.
   */
  input: (world: World, oneself: Person) => ActionInput<N> | Promise<ActionInput<N>>
  /** Actors that may run the action. All others are rejected. */
  may: readonly ActorName[]
  /** Input for the audit test, if that test needs secrets or a state that takes too long to create for the other tests. */
  audited?: (world: AuditWorld, oneself: TestUser) => ActionInput<N> | Promise<ActionInput<N>>
}

/** A test case for each action in `Part`, such as `typeof devices`. A missing or superfluous case does not compile. */
export type Rows<Part> = { [N in keyof Part & ActionName]: Row<N> }
