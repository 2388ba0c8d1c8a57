import type { ErrorComponentProps } from '@tanstack/react-router'
import { isAbsent } from './is-absent.ts'
import { Absent } from './NotFound.tsx'
import { RouteError } from './RouteError.tsx'

/** Error page of one entity, for example a repository: not found, or the request failed. */
export function EntityError(props: Pick<ErrorComponentProps, 'error' | 'reset'>) {
  return isAbsent(props.error) ? <Absent reason={props.error} /> : <RouteError {...props} />
}
