import { deviceNameText } from '../../devices/device-name.ts'
import type { Subjects } from './entry.ts'

/** Label of an object in a sentence, and the path of the page that shows it, if there is one. */
export type SubjectLink = { label: string; to?: string; search?: Record<string, string> }

/** Label and page of the object with an id. A deleted or unknown object has no page and, if its name is unknown, its id as label. */
export function subjectLink(id: string, subjects: Subjects, isInstance: boolean): SubjectLink {
  const subject = Object.hasOwn(subjects, id) ? subjects[id] : undefined
  if (!subject) return { label: id }
  const { name, hostname, organizationId, projectId, repositoryId, packageId, isDeleted } = subject
  const label = name ?? (hostname === undefined ? id : deviceNameText({ hostname }))
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
