import type { ReactNode } from 'react'

/** A fact of a list of facts (`dl`). `mono` is for texts of machines. */
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
