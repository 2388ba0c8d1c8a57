import type { ReactNode } from 'react'

/** A label and its value in a list of facts (`dl`). `mono` shows the value in the monospace font, for texts that machines read. */
export function Fact({
  label,
  mono = false,
  children,
}: {
  label: string
  mono?: boolean
  children: ReactNode
}) {
  return (
    <div>
      <dt>{label}</dt>
      <dd className={mono ? 'mono' : undefined}>{children}</dd>
    </div>
  )
}
