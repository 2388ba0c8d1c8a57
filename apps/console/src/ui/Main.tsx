import { createContext, type ReactNode, useContext } from 'react'

const InMain = createContext(false)

/** The `main` landmark; inside another one it adds nothing. */
export function Main({ children }: { children: ReactNode }) {
  if (useContext(InMain)) return children
  return (
    <InMain value={true}>
      <main id="main">{children}</main>
    </InMain>
  )
}
