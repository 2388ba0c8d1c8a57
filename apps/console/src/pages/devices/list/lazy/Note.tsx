import type { ReactNode } from 'react'
import panel from './panel.module.css'

/** A short text in a panel of the device list, which screen readers announce when it changes. */
export function Note({ children }: { children: ReactNode }) {
  return (
    <p className={`tiny muted break-anywhere ${panel.note}`} role="status">
      {children}
    </p>
  )
}
