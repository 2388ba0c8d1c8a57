import type { ResourceKind } from '@muster/actions'
import type { Resolve } from './scope.ts'

/** Functions that find the owners of a resource, by its kind. */
export type Owners = Record<ResourceKind, Resolve>

const owners: Partial<Owners> = {}

/** Adds the functions of a feature. */
export function registerOwners(ofFeature: Partial<Owners>): void {
  Object.assign(owners, ofFeature)
}

/** Returns the function that finds the owners of a resource of this kind. */
export function ownersOf(kind: ResourceKind): Resolve {
  const resolve = owners[kind]
  if (!resolve) throw new Error(`No feature finds the owners of a ${kind}: import features/index.ts first.`)
  return resolve
}
