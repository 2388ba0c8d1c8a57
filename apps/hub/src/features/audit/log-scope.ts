import type { Scope } from '../../platform/access/scope.ts'

/** Resource whose log is queried: the column of the audit tables that refers to it, and its id. */
export type LogOf = {
  column: 'organization_id' | 'project_id' | 'repository_id' | 'device_id'
  id: string
  /** Ids of the organization and, if it has them, the project or repository of the resource, and the caller's role in the organization. */
  scope: Scope
}
