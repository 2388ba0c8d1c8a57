import type { ReactNode } from 'react'

/** A short text in a panel of the device list, which screen readers announce when it changes. */
export function Note({ children }: { children: ReactNode }) {
  return (
    <p className="hint" role="status">
      {children}
    </p>
  )
}
