import { useLostHub } from '../api/lost-hub.ts'

/**
 * Attributes that disable a button while the hub cannot be reached, with a tooltip that says why. With `aria-disabled` the button keeps
 * its focus, which `disabled` would take away.
 */
export function useHubLost(needsHub: boolean) {
  const isLost = useLostHub() !== undefined
  return isLost && needsHub ? { 'aria-disabled': true, 'data-tip': 'The hub cannot be reached.' } : undefined
}
