import { createContext, type ReactNode, useContext } from 'react'

const InMain = createContext(false)

/** The `main` landmark. Inside another `Main` it renders only its children. */
export function Main({ children }: { children: ReactNode }) {
  if (useContext(InMain)) return children
  return (
    <InMain value={true}>
      <main id="main">{children}</main>
    </InMain>
  )
}
