import { useEffect, useEffectEvent } from 'react'
import type { IconType } from '../../ui/icon.ts'

/** An action of the page on screen, which the search dialog (`Palette`) offers. */
export type PageAction = {
  label: string
  icon: IconType
  /** Shortcut key of the action, in the notation of `useShortcut`. */
  keys?: string | undefined
  run: () => unknown
}

const actions: PageAction[] = []

/** Offers an action in the search dialog while the component is mounted. */
export function usePageAction({ label, icon, keys, run }: PageAction) {
  const start = useEffectEvent(run)
  useEffect(() => {
    const action = { label, icon, keys, run: () => start() }
    actions.push(action)
    return () => void actions.splice(actions.indexOf(action), 1)
  }, [label, icon, keys])
}

/** The actions of the page on screen, in the order in which its components were mounted. */
export function pageActions(): readonly PageAction[] {
  return [...actions]
}
