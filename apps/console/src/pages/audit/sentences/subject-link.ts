import { deviceNameText } from '../../devices/shared/device-name.ts'
import type { Subjects } from '../shared/entry.ts'

/**
 * Label of an object in a sentence, and the path of the page that shows it, if there is one. `isNoun` is true if the label is not a name
 * but words such as "a deleted device".
 */
export type SubjectLink = { label: string; isNoun?: true; to?: string; search?: Record<string, string> }

/** Kinds of objects in words, by the prefix of their ids. */
const NOUNS: Record<string, string> = {
  u: 'account',
  u_pk: 'token',
  org: 'organization',
  p: 'project',
  d: 'device',
  deployment_id: 'token',
  repo: 'repository',
  pkg: 'package',
  pkg_v: 'version',
}

/**
 * Label and page of the object with an id. A deleted or unknown object has no page. If its name is unknown, a deleted object gets words
 * such as "a deleted device" as its label, and any other object gets its id.
 */
export function subjectLink(id: string, subjects: Subjects, isInstance: boolean): SubjectLink {
  const subject = Object.hasOwn(subjects, id) ? subjects[id] : undefined
  if (!subject) return prefixOf(id) === 'repo_a' ? { label: 'a file', isNoun: true } : { label: id }
  const { name, hostname, organizationId, projectId, repositoryId, packageId, isDeleted } = subject
  const named = name ?? (hostname === undefined ? undefined : deviceNameText({ hostname }))
  const noun = NOUNS[prefixOf(id)]
  if (isDeleted && named === undefined && noun !== undefined)
    return { label: `a deleted ${noun}`, isNoun: true }
  const label = named ?? id
  if (isDeleted) return { label }
  const project = `/${organizationId}/projects/${projectId}`
  const repository = `/${organizationId}/repositories/${repositoryId}`
  switch (prefixOf(id)) {
    case 'd':
      return { label, to: `${project}/devices/${id}` }
    case 'p':
      return { label, to: `${project}/devices` }
    case 'deployment_id':
      return { label, to: `${project}/tokens`, search: { q: id } }
    case 'org':
      return { label, to: `/${id}/projects` }
    case 'repo':
      return { label, to: `${repository}/packages` }
    case 'pkg':
      return { label, to: `${repository}/packages/${id}` }
    case 'pkg_v':
      return { label, to: `${repository}/packages/${packageId}/versions/${id}` }
    case 'u':
      return isInstance ? { label, to: '/admin/users', search: { q: id } } : { label }
    default:
      return { label }
  }
}

/** Prefix of an id, such as `repo` for the id of a repository. */
export function prefixOf(id: string): string {
  return id.slice(0, id.lastIndexOf('_'))
}

/** Removes the noun at the end of the text before a label with its own noun: "turned auto-accept of the token " + "a deleted token". */
export function withoutNoun(text: string): string {
  return text.replace(
    /the (?:user )?(?:account|device|file|organization|package|project|repository|token|version) $/,
    '',
  )
}
