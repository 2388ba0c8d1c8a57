import { useLostHub } from '../api/lost-hub.ts'

/**
 * Attributes of a button that needs the hub, while the hub is lost: it says why it does nothing. It keeps its focus, which a
 * `disabled` button would lose.
 */
export function useHubLost(needsHub: boolean) {
  const isLost = useLostHub() !== undefined
  return isLost && needsHub ? { 'aria-disabled': true, 'data-tip': 'The hub cannot be reached.' } : undefined
}
