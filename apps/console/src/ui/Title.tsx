import { createContext, type ReactNode, useContext } from 'react'

/** The product's name in texts for users. */
export const PRODUCT = 'Muster'

/** Name of this instance, which precedes the product's name in document titles. */
export const InstanceName = createContext<string | undefined>(undefined)

const Scope = createContext<readonly string[]>([])

/** Adds a name to the document titles of the pages in `children`. Inner names come first: "Devices · Harbor cranes · Halden". */
export function TitleScope({ name, children }: { name: string | undefined; children: ReactNode }) {
  const outer = useContext(Scope)
  return <Scope value={name ? [name, ...outer] : outer}>{children}</Scope>
}

/** Sets the document title to `Page · Entity · Organization · Instance · Muster`. `PageHead` includes it. */
export function Title({ page }: { page: string }) {
  const scope = useContext(Scope)
  const instance = useContext(InstanceName)
  return <title>{[page, ...scope, ...(instance ? [instance] : []), PRODUCT].join(' · ')}</title>
}
