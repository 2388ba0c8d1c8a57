import { useState } from 'react'

/**
 * A set of ids, for example of unfolded rows, and a function that adds an id or, if the set has it, removes it. The set starts with
 * `initial`, or empty.
 */
export function useToggled(initial?: string): [ReadonlySet<string>, (id: string) => void] {
  const [ids, setIds] = useState<ReadonlySet<string>>(() => new Set(initial ? [initial] : []))
  function toggle(id: string) {
    const next = new Set(ids)
    if (!next.delete(id)) next.add(id)
    setIds(next)
  }
  return [ids, toggle]
}
