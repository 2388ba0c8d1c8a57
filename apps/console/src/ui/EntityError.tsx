import type { ErrorComponentProps } from '@tanstack/react-router'
import { isAbsent } from './is-absent.ts'
import { Absent } from './NotFound.tsx'
import { RouteError } from './RouteError.tsx'

/** Error page of an entity, for example a repository. It says that the entity does not exist or that the request failed. */
export function EntityError(props: Pick<ErrorComponentProps, 'error' | 'reset'>) {
  return isAbsent(props.error) ? <Absent reason={props.error} /> : <RouteError {...props} />
}
