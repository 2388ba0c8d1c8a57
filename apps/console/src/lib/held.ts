import { useSyncExternalStore } from 'react'

/** A value that lives outside of components. */
type Held<T> = ReturnType<typeof held<T>>

/** Holds a value that components may follow with `useHeld`. */
export function held<T>(value: T) {
  const listeners = new Set<() => void>()
  return {
    get: () => value,
    set(next: T) {
      value = next
      for (const listener of listeners) listener()
    },
    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** The value that is held, as it changes. */
export function useHeld<T>({ subscribe, get }: Held<T>): T {
  return useSyncExternalStore(subscribe, get)
}
