import { useSyncExternalStore } from 'react'

/** A value stored outside of React components. */
type ExternalStore<T> = ReturnType<typeof externalStore<T>>

/** Stores a value outside of React components. Components subscribe to it with `useExternalStore`. */
export function externalStore<T>(value: T) {
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

/** The value of a store. A change renders the component again. */
export function useExternalStore<T>({ subscribe, get }: ExternalStore<T>): T {
  return useSyncExternalStore(subscribe, get, get)
}
