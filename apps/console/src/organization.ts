import { useSyncExternalStore } from 'react'
import { useActionState } from './api/queries.ts'
import { useHeldUserId } from './session.ts'

/** The organization whose projects, repositories and settings the top bar links to. */
export type Organization = { organizationId: string; name: string }

const PREFIX = 'org_'
let visited: { userId: string; organizationId: string } | undefined
const listeners = new Set<() => void>()

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
  if (visited?.userId === userId) return visited.organizationId
  try {
    return localStorage.getItem(keyOf(userId)) ?? undefined
  } catch {
    return undefined
  }
}

/** Makes an organization the current one and remembers it for this person. */
export function setCurrentOrganizationId(userId: string, organizationId: string) {
  if (visited?.userId === userId && visited.organizationId === organizationId) return
  visited = { userId, organizationId }
  try {
    localStorage.setItem(keyOf(userId), organizationId)
  } catch {
    // Storage may be forbidden; the choice then lasts as long as the page.
  }
  for (const listener of listeners) listener()
}

/** Forgets the current organization if it is this one, for example because one has left it. */
export function forgetOrganization(userId: string, organizationId: string) {
  if (currentOrganizationId(userId) !== organizationId) return
  visited = undefined
  try {
    localStorage.removeItem(keyOf(userId))
  } catch {
    // Storage may be forbidden; then nothing was remembered.
  }
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => listeners.delete(listener)
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
  const currentId = useSyncExternalStore(subscribe, () => currentOrganizationId(userId))
  const known = organizations?.find(({ organizationId }) => organizationId === currentId)
  if (known) return known
  const visitedId = visited?.userId === userId ? visited.organizationId : undefined
  if (visitedId) return { organizationId: visitedId, name: visitedId }
  return organizations?.[0]
}
