import { createContext, type ReactNode, useContext } from 'react'

const Scope = createContext<readonly string[]>([])

/** Names what the pages inside belong to; nearer names come first in the title: "Devices · Harbor cranes · Halden". */
export function TitleScope({ name, children }: { name: string | undefined; children: ReactNode }) {
  const outer = useContext(Scope)
  return <Scope value={name ? [name, ...outer] : outer}>{children}</Scope>
}

/** Sets the document's title to `Page · Entity · Organization`; `PageHead` has one built in. */
export function Title({ page }: { page: string }) {
  const scope = useContext(Scope)
  return <title>{[page, ...scope].join(' · ')}</title>
}
