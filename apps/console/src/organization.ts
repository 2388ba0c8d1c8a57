import { useSyncExternalStore } from 'react'
import { useActionState } from './api/queries.ts'
import { externalStore } from './lib/external-store.ts'
import { readLocalStorage, writeLocalStorage } from './lib/local-storage.ts'
import { useSignedInUserId } from './session.ts'

/** The organization whose projects, repositories and settings the top bar links to. */
export type Organization = {
  organizationId: string
  name: string
  /** Whether the user is an administrator of the organization. */
  isAdmin?: boolean | undefined
}

const PREFIX = 'org_'
const visited = externalStore<{ userId: string; organizationId: string } | undefined>(undefined)

const keyOf = (userId: string) => `muster.organization.${userId}`

/** Converts the id of an organization to its route parameter, which lacks the prefix `org_`. */
export function organizationParam(organizationId: string): string {
  return organizationId.startsWith(PREFIX) ? organizationId.slice(PREFIX.length) : organizationId
}

/** Converts the route parameter `organization` to the id of the organization. */
export function organizationIdOf({ organization }: { organization: string }): string {
  return PREFIX + organization
}

/** Id of the organization that this user visited last in this browser. */
export function currentOrganizationId(userId: string): string | undefined {
  return visitedBy(userId) ?? readLocalStorage(keyOf(userId))
}

function visitedBy(userId: string): string | undefined {
  const last = visited.get()
  return last?.userId === userId ? last.organizationId : undefined
}

/** Makes an organization the user's current organization, and stores its id in this browser. */
export function setCurrentOrganizationId(userId: string, organizationId: string) {
  if (visitedBy(userId) === organizationId) return
  writeLocalStorage(keyOf(userId), organizationId)
  visited.set({ userId, organizationId })
}

/** Forgets the user's current organization if it has this id, for example after the user has left it. */
export function forgetOrganization(userId: string, organizationId: string) {
  if (currentOrganizationId(userId) !== organizationId) return
  writeLocalStorage(keyOf(userId), undefined)
  visited.set(undefined)
}

/** Organizations of the signed-in user, ordered by name; `undefined` while they load. */
export function useOrganizations(): Organization[] | undefined {
  const userId = useSignedInUserId() ?? ''
  const { data } = useActionState('users_QueryOrganizations', { userId }, { enabled: userId !== '' })
  return data?.organizations
}

/**
 * The current organization, else the user's first. An administrator may visit an organization without being a member.
 * Its name is then unknown, so `name` holds the id.
 */
export function useCurrentOrganization(): Organization | undefined {
  const userId = useSignedInUserId() ?? ''
  const organizations = useOrganizations()
  const currentId = useSyncExternalStore(visited.subscribe, () => currentOrganizationId(userId))
  const known = organizations?.find(({ organizationId }) => organizationId === currentId)
  if (known) return known
  const visitedId = visitedBy(userId)
  if (visitedId) return { organizationId: visitedId, name: visitedId }
  return organizations?.[0]
}
