import { useSyncExternalStore } from 'react'
import { useActionState } from './api/queries.ts'
import { held } from './lib/held.ts'
import { readStored, store } from './lib/stored.ts'
import { useHeldUserId } from './session.ts'

/** The organization whose projects, repositories and settings the top bar links to. */
export type Organization = { organizationId: string; name: string }

const PREFIX = 'org_'
const visited = held<{ userId: string; organizationId: string } | undefined>(undefined)

const keyOf = (userId: string) => `muster.organization.${userId}`

/** The part of an organization's id that stands in a path: `org_` is written in the route. */
export function organizationParam(organizationId: string): string {
  return organizationId.startsWith(PREFIX) ? organizationId.slice(PREFIX.length) : organizationId
}

/** The id of the organization that a path names. */
export function organizationIdOf({ organization }: { organization: string }): string {
  return PREFIX + organization
}

/** The organization this person looked at last in this browser, by id. */
export function currentOrganizationId(userId: string): string | undefined {
  return visitedBy(userId) ?? readStored(keyOf(userId))
}

function visitedBy(userId: string): string | undefined {
  const last = visited.get()
  return last?.userId === userId ? last.organizationId : undefined
}

/** Makes an organization the current one and remembers it for this person. */
export function setCurrentOrganizationId(userId: string, organizationId: string) {
  if (visitedBy(userId) === organizationId) return
  store(keyOf(userId), organizationId)
  visited.set({ userId, organizationId })
}

/** Forgets the current organization if it is this one, for example because one has left it. */
export function forgetOrganization(userId: string, organizationId: string) {
  if (currentOrganizationId(userId) !== organizationId) return
  store(keyOf(userId), undefined)
  visited.set(undefined)
}

/** Organizations of the signed-in person, by name; nothing until they are loaded. */
export function useOrganizations(): Organization[] | undefined {
  const userId = useHeldUserId() ?? ''
  const { data } = useActionState('users_QueryOrganizations', { userId }, { enabled: userId !== '' })
  return data?.organizations
}

/** The current organization, else the first; an administrator may look at one that is not theirs, which then shows its id. */
export function useCurrentOrganization(): Organization | undefined {
  const userId = useHeldUserId() ?? ''
  const organizations = useOrganizations()
  const currentId = useSyncExternalStore(visited.subscribe, () => currentOrganizationId(userId))
  const known = organizations?.find(({ organizationId }) => organizationId === currentId)
  if (known) return known
  const visitedId = visitedBy(userId)
  if (visitedId) return { organizationId: visitedId, name: visitedId }
  return organizations?.[0]
}
