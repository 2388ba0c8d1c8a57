import { type ComponentType, lazy } from 'react'
import { loadCode } from '../load-code.ts'

/** A part of a page that is loaded when it is first shown. An import that fails leaves the part out: an error here would replace the page. */
export function optionalPart<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  return lazy(async () => ({ default: await loadCode(load).catch(() => (_: Props) => null) }))
}
